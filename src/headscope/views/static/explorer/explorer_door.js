// Whoever comes to the explorer without its token: where this browser has opened it before, the token is at hand.
import { keptToken, forgetToken } from "./explorer_token.js";

const given = new URLSearchParams(location.search).get("token");
const token = keptToken();
// A token that came with the address, or that was kept, and was refused is an old server's.
if (given !== null) forgetToken(given);
else if (token) location.replace(`/?token=${encodeURIComponent(token)}${location.hash}`);
