"""The documents: the site, the pages made from code, and every command that they show."""
