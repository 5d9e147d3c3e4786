"""Raw records of hospital patients become the databases that questions are asked of, with gold answers and a lookup index."""
