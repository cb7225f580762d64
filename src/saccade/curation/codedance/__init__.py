"""CodeDance's data: solutions in code that really runs, checked and told anew."""
