/** What a node of a cluster of databases says about itself and the cluster. */
export interface NodeState {
  readonly name: string
  /** It is part of the cluster that has the majority, and takes statements. */
  readonly isInCluster: boolean
  /** It has all data; it may be giving another node a copy of them. */
  readonly isSynced: boolean
  /** Its place among the nodes of the cluster, the same for all who ask. */
  readonly place: number
  /** How many nodes the cluster has now; 0: the server is in none. */
  readonly size: number
  /** The name of the node that was elected the writer; undefined: none yet. */
  readonly elected: string | undefined
}

/** A writer that others in the cluster hear, and this program does not, is passed over after this time. */
const PASS_OVER_MS = 5_000
/** So many times in a row the nodes that answer must have answered meanwhile. */
const PASS_OVER_ANSWERS = 10

/**
 * Whether it is the writer that says nothing, and not this program that is too slow to hear it: that one misses the
 * answers of all nodes now and then, and must not take the writer from the others for that. `answers`: how many times each
 * of the other nodes has answered in a row since the writer last did.
 */
export function isSilent(sinceMs: number, answers: readonly number[]): boolean {
  return sinceMs > PASS_OVER_MS && answers.every((count) => count >= PASS_OVER_ANSWERS)
}

/** The node that takes all statements, by its URL: known already, to be elected, or not to be known now. */
export type Choice =
  | { readonly is: 'writer'; readonly url: string }
  | { readonly is: 'candidate'; readonly url: string; readonly insteadOf: string }
  | { readonly is: 'unknown' }

/**
 * The writer stays the writer while it is in the cluster, so that a node that comes back changes nothing. One that has
 * left is succeeded by the first synced node. While a node of the cluster does not answer, nothing is decided,
 * unless `mayPassOver`: it may be the writer to all others.
 */
export function chooseWriter(states: ReadonlyMap<string, NodeState>, mayPassOver: boolean): Choice {
  const able = [...states]
    .filter(([, { isInCluster, isSynced }]) => isInCluster && isSynced)
    .toSorted(([, a], [, b]) => a.place - b.place)
  const [first] = able
  if (first === undefined) return { is: 'unknown' }
  const [url, { elected, size }] = first
  const isElected = able.find(([, { name }]) => name === elected)
  if (isElected !== undefined) return { is: 'writer', url: isElected[0] }
  const inCluster = [...states.values()].filter(({ isInCluster }) => isInCluster)
  if (inCluster.length < size && !mayPassOver) return { is: 'unknown' }
  return elected === undefined
    ? { is: 'writer', url }
    : { is: 'candidate', url, insteadOf: elected }
}
