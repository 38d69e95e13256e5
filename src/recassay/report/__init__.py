"""What people look at: tables and files of results."""
