import llmr.mcp
import string_utils  # Loaded from libraries_path/string_utils.py

def main():
    text = llmr.mcp.get("text")
    result = string_utils.to_uppercase(text)
    llmr.mcp.return_string(result)

main()
