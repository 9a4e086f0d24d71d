import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Secrets } from '#common/secrets.ts'
import { bmcSettings, type EnrolledNode } from './enrolled-node.ts'
import { isOffered, type Node, nodeParts, resourceClassOf } from './node.ts'
import { type NodeRecord, readNodeRecord, writeNodeRecord } from './node-record.ts'
import { type NodeEvent, nextNodeState } from './node-states.ts'

interface Kept extends Node {
  record: NodeRecord
  readonly path: string
  /** Writes of one node's record, one after the other. */
  written: Promise<void>
}

/** What changes of a record besides the state. */
export type NodeChange = Partial<Pick<NodeRecord, 'instance' | 'parts' | 'failure' | 'isOn'>>

/** The nodes of a host. What it says has been done to one is on disk. */
export class NodePool implements AsyncDisposable {
  readonly #nodes: readonly Kept[]

  private constructor(nodes: readonly Kept[]) {
    this.#nodes = nodes
  }

  /** `secrets` opens the passwords. Throws for a node that has a server and is not enrolled any more. */
  static async open(
    folder: string,
    enrolled: readonly EnrolledNode[],
    secrets: Secrets,
  ): Promise<NodePool> {
    await refuseForgotten(folder, enrolled)
    return new NodePool(await Promise.all(enrolled.map((node) => openNode(folder, node, secrets))))
  }

  all(): readonly Node[] {
    return this.#nodes
  }

  /** The node that the server has. */
  holding(instance: InstanceId): Node | undefined {
    return this.#nodes.find(({ record }) => record.instance === instance)
  }

  /** As `holding`; throws `not-found`. */
  get(instance: InstanceId): Node {
    const node = this.holding(instance)
    if (node !== undefined) return node
    throw new Failure('not-found', `Instance ${instance} is not on this host.`)
  }

  /**
   * Afterwards the server has a node of the class. Throws `no-capacity` when all have servers, and what `refuse` throws
   * for the one that is free.
   */
  async take(
    resourceClass: string,
    instance: InstanceId,
    refuse: (node: Node) => void,
  ): Promise<Node> {
    const node = this.#nodes.find(
      (one) =>
        one.record.state === 'available' &&
        isOffered(one) &&
        resourceClassOf(one) === resourceClass,
    )
    if (node === undefined)
      throw new Failure('no-capacity', `No machine of class ${resourceClass} is free here.`)
    refuse(node)
    await this.move(node, 'take', { instance, isOn: false })
    return node
  }

  /** Afterwards the event has happened to the node. Throws `conflict` when it cannot, and nothing has changed. */
  async move(node: Node, event: NodeEvent, change: NodeChange = {}): Promise<void> {
    const state = nextNodeState(node.record.state, event)
    await this.#put(node, { failure: null, ...change, state })
  }

  /** Afterwards the node is remembered to be on, or off. */
  async sawPower(node: Node, isOn: boolean): Promise<void> {
    if (node.record.isOn !== isOn) await this.#put(node, { isOn })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { bmc, written } of this.#nodes) {
      await bmc?.[Symbol.asyncDispose]()
      await written
    }
  }

  /** Changed at once, so that nobody else decides by what is no longer so. */
  async #put(node: Node, change: Partial<NodeRecord>): Promise<void> {
    const kept = this.#nodes.find(({ name }) => name === node.name)!
    kept.record = { ...kept.record, ...change }
    await writeKept(kept)
  }
}

async function openNode(folder: string, enrolled: EnrolledNode, secrets: Secrets): Promise<Kept> {
  const path = join(folder, `${enrolled.name}.json`)
  const record = await readNodeRecord(path)
  const parts = nodeParts(enrolled, bmcSettings(enrolled, secrets), record.isOn)
  return { ...parts, name: enrolled.name, enrolled, record, path, written: Promise.resolve() }
}

async function refuseForgotten(folder: string, enrolled: readonly EnrolledNode[]): Promise<void> {
  const known = new Set(enrolled.map(({ name }) => `${name}.json`))
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const file of files.filter((name) => name.endsWith('.json') && !known.has(name))) {
    const { instance } = await readNodeRecord(join(folder, file))
    if (instance === null) continue
    const node = file.slice(0, -'.json'.length)
    throw new Failure(
      'invalid',
      `Node ${node} has server ${instance} and is not enrolled any more.`,
    )
  }
}

/** Writes what the record is by then. A write that fails is the failure of who asked for it alone. */
function writeKept(kept: Kept): Promise<void> {
  const writing = kept.written.then(() => writeNodeRecord(kept.path, kept.record))
  kept.written = writing.catch(() => undefined)
  return writing
}
