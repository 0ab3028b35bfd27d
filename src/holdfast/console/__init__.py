"""The web console: what a broker knows of itself, live, in a browser or as JSON.

http      requests in, answers out, limits; no knowledge of pages
console   a request's way: the host, the visitor, the route, then JSON, a stream of it, or the shell that draws it
routes    the table: path, page, the right it needs, what it costs
visit     who is there, and what they may see
pages     one file for each page: from what the parts say to JSON
parts     what the pages look at, as it is handed in
history   an hour of the few series that pages show
files     the browser's side, in `static`
"""
