"""One run explained: in words, a table, a picture and a page."""
