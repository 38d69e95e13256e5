"""Functions whose results have the same bits on every processor and with every version of NumPy and SciPy.

The logarithms and powers of NumPy, SciPy and the C library are compiled several times, for processors with and without
certain vector instructions, and these copies differ in the last bit. The functions here use nothing but additions,
subtractions, multiplications, divisions and square roots of doubles, which IEEE 754 defines to the last bit.
"""
