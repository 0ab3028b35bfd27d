// Which address is drawn by which file.

const part = (name) => `(?<${name}>[^/]+)`;
const at = (path) => new RegExp(`^${path.replace(/\{(\w+)\}/g, (_, name) => part(name))}$`);

export const PAGES = [
  [at("/"), "Overview", () => import("./pages/overview.js")],
  [at("/topics"), "Topics", () => import("./pages/topics.js")],
  [at("/topics/{topic}"), "Topic", () => import("./pages/topic.js")],
  [at("/topics/{topic}/records"), "Records", () => import("./pages/records.js")],
  [at("/topics/{topic}/{partition}"), "Partition", () => import("./pages/partition.js")],
  [at("/topics/{topic}/{partition}/segments/{base}"), "Segment", () => import("./pages/segment.js")],
  [at("/topics/{topic}/{partition}/records/{offset}"), "Record", () => import("./pages/record.js")],
  [at("/timeline"), "Timeline", () => import("./pages/timeline.js")],
  [at("/groups"), "Groups", () => import("./pages/groups.js")],
  [at("/groups/{group}"), "Group", () => import("./pages/group.js")],
  [at("/transactions"), "Transactions", () => import("./pages/transactions.js")],
  [at("/store"), "Store", () => import("./pages/store.js")],
  [at("/store/objects"), "Objects", () => import("./pages/objects.js")],
  [at("/subscriptions"), "Subscriptions, sync, archive", () => import("./pages/subscriptions.js")],
  [at("/proof"), "Proof", () => import("./pages/proof.js")],
  [at("/access"), "Access", () => import("./pages/access.js")],
  [at("/wal"), "Write-ahead log", () => import("./pages/wal.js")],
];

export const NAVIGATION = [
  ["/", "Overview"],
  ["/topics", "Topics"],
  ["/timeline", "Timeline"],
  ["/groups", "Groups"],
  ["/transactions", "Transactions"],
  ["/wal", "Write-ahead log"],
  ["/store", "Store"],
  ["/subscriptions", "Subscriptions, sync, archive"],
  ["/proof", "Proof"],
  ["/access", "Access"],
];
