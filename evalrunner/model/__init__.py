"""What fills a seat: LLM clients, the rule-based judge, and the strict reading of replies."""
