"""Where the things of an EHR task are in the folder of built data, beside what every task has there (`medagentgym.built_data`)."""

LOOKUP_FILE = "lookup.sqlite"
DATABASE_FOLDER = "database"
