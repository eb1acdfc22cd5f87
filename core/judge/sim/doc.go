// Package sim is a judge without a model: a Thurstone judge, to whom every text
// has a known quality, perceived with noise. It answers the same rendered
// requests in the same JSON a model would, in process and as an
// OpenAI-compatible HTTP server, so that everything around a judge can be run
// and measured exactly.
//
// What a call perceives of a text it is shown is
//
//	quality + taste*N(text) + drift*N(call)
//	        + sigma*(1 + crowding*max(0, n-2))*N(call, text)
//	        + position_bias*[shown first of several]
//
// N are standard normal draws from a hash of (seed, what the parentheses name),
// n is the number of texts shown and a call is (rubrics, texts in shown order,
// the request's seed). Equal requests thus get equal answers in any process;
// only simulated failures and malformed answers also depend on how often a
// request was seen. With all noise at zero the judge is exact.
package sim
