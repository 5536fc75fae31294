"""Data steps whose parts are made side by side: in this process, or as tasks of Ray on many machines."""
