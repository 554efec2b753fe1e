// The server's token, kept by the browser for this address and port, so that the page's own address need not hold it: a
// copied link gives nothing away, and still opens in this browser while the server runs.
const TOKEN_NAME = "headscope-token";

export function keptToken() {
  try {
    return localStorage.getItem(TOKEN_NAME);
  } catch {
    return null;
  }
}

function keepToken(token) {
  try {
    localStorage.setItem(TOKEN_NAME, token);
    return true;
  } catch {
    return false;
  }
}

// Forget a refused token.
export function forgetToken(token) {
  if (keptToken() === token) localStorage.removeItem(TOKEN_NAME);
}

// The token from the page's address, which loses it where the browser keeps it.
export function takeToken() {
  const token = new URLSearchParams(location.search).get("token") || "";
  if (token && keepToken(token)) history.replaceState(history.state, "", `/${location.hash}`);
  return token;
}
