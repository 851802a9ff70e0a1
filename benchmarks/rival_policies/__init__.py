"""How experiment platforms share out visitors and name a winner, as policies for the lab."""
