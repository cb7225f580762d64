"""VISTA-R1's data: solutions with tools, played by a teacher and made denser."""
