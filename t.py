def t(label,f):
    try: print(label, f())
    except ra.RecassayError as e: print(label,"REFUSED",e)
    except Exception as e: print(label,"RAW",type(e),e)
