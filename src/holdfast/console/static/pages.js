// Which address is drawn by which file.

const part = (name) => `(?<${name}>[^/]+)`;
const at = (path) => new RegExp(`^${path.replace(/\{(\w+)\}/g, (_, name) => part(name))}$`);

export const PAGES = [
  [at("/"), "Overview", () => import("./pages/overview.js")],
  [at("/topics"), "Topics", () => import("./pages/topics.js")],
  [at("/topics/{topic}"), "Topic", () => import("./pages/topic.js")],
  [at("/topics/{topic}/{partition}"), "Partition", () => import("./pages/partition.js")],
  [at("/topics/{topic}/{partition}/segments/{base}"), "Segment", () => import("./pages/segment.js")],
  [at("/wal"), "Write-ahead log", () => import("./pages/wal.js")],
];

export const NAVIGATION = [
  ["/", "Overview"],
  ["/topics", "Topics"],
  ["/wal", "Write-ahead log"],
];
