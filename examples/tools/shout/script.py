import llmr.mcp
import string_utils  # Found in ../lib

def main():
    text = llmr.mcp.get("text")
    result = string_utils.to_uppercase(text)
    llmr.mcp.return_string(result)

main()
