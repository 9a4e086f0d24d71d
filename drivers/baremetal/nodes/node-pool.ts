import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'
import type { Secrets } from '#common/secrets.ts'
import type { NewNode } from '../../nodes.ts'
import {
  bmcSettings,
  type EnrolledNode,
  enrolledNode,
  enrolledNodes,
  isSameNode,
  macAddressesOf,
} from './enrolled-node.ts'
import { isOffered, type Node, nodeParts, resourceClassOf } from './node.ts'
import { type NodeRecord, readNodeRecord, writeNodeRecord } from './node-record.ts'
import { type NodeEvent, nextNodeState } from './node-states.ts'

interface Kept extends Node {
  enrolled: EnrolledNode
  record: NodeRecord
  readonly path: string
  /** Writes of one node's record, one after the other. */
  written: Promise<void>
}

/** The properties of a record that change besides the state. */
export type NodeChange = Partial<Pick<NodeRecord, 'instance' | 'parts' | 'failure' | 'isOn'>>

/** The nodes of a host. Every change that it reports as made is on disk. */
export class NodePool implements AsyncDisposable {
  readonly #folder: string
  readonly #secrets: Secrets
  #nodes: readonly Kept[] = []
  /** Writes of the list of nodes, one after the other. */
  #listed: Promise<void> = Promise.resolve()

  private constructor(folder: string, secrets: Secrets) {
    this.#folder = folder
    this.#secrets = secrets
  }

  /**
   * Those that are listed in the folder; `secrets` seals and opens their passwords. Throws for a node that has a server
   * and is not listed any more.
   */
  static async open(folder: string, secrets: Secrets): Promise<NodePool> {
    const pool = new NodePool(folder, secrets)
    const enrolled = await readNodesFile(pool.#listPath)
    await refuseForgotten(pool.#recordsPath, enrolled)
    pool.#nodes = await Promise.all(enrolled.map((node) => pool.#open(node)))
    return pool
  }

  /** Afterwards the node is listed. Throws `conflict` for a name, MAC address or BMC that another has, `invalid`. */
  async add(added: NewNode): Promise<Node> {
    const enrolled = enrolledNode(added, this.#secrets)
    const node = await this.#open(enrolled)
    const same = this.#nodes.find((node) => overlaps(node.enrolled, enrolled))
    if (same !== undefined) {
      if (isSameNode(same.enrolled, added, this.#secrets)) return same
      throw new Failure(
        'conflict',
        `Node ${same.name} has this name, MAC address or BMC. Remove it first, or choose others.`,
      )
    }
    this.#nodes = [...this.#nodes, node]
    await this.#list()
    return node
  }

  /** Afterwards the node is not listed, and its record is removed. */
  async remove(node: Node): Promise<void> {
    const kept = this.#kept(node)
    this.#nodes = this.#nodes.filter((each) => each !== kept)
    await kept.bmc?.[Symbol.asyncDispose]()
    await kept.written
    // Listed without a record it would be inspected again; a record alone would be that of the next of its name.
    await rm(kept.path, { force: true })
    await this.#list()
  }

  /** Afterwards it is listed why no server gets the node, or that servers may (null). */
  async maintain(node: Node, reason: string | null): Promise<void> {
    const kept = this.#kept(node)
    const { maintenance: _, ...rest } = kept.enrolled
    kept.enrolled = reason === null ? rest : { ...rest, maintenance: reason }
    await this.#list()
  }

  all(): readonly Node[] {
    return this.#nodes
  }

  /** Throws `not-found`. */
  named(name: string): Node {
    const node = this.#nodes.find((one) => one.name === name)
    if (node !== undefined) return node
    throw new Failure('not-found', `There is no node ${name} on this host.`)
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
   * Afterwards the server has a node of the class, the first that `refuse` does not refuse. Throws `no-capacity` when all
   * have servers, and what `refuse` throws for the first that is free when it refuses all.
   */
  async take(
    resourceClass: string,
    instance: InstanceId,
    refuse: (node: Node) => void,
  ): Promise<Node> {
    const free = this.#nodes.filter(
      (one) =>
        one.record.state === 'available' &&
        isOffered(one) &&
        resourceClassOf(one) === resourceClass,
    )
    if (free.length === 0)
      throw new Failure('no-capacity', `No machine of class ${resourceClass} is free on this host.`)
    const node = firstOf(free, refuse)
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

  /** Changed at once, so that no other work decides by the former state. */
  async #put(node: Node, change: Partial<NodeRecord>): Promise<void> {
    const kept = this.#kept(node)
    kept.record = { ...kept.record, ...change }
    await writeKept(kept)
  }

  #kept(node: Node): Kept {
    const kept = this.#nodes.find((one) => one === node)
    if (kept !== undefined) return kept
    throw new Failure('not-found', `Node ${node.name} was removed meanwhile.`)
  }

  /** Writes the nodes listed at the time of writing. */
  #list(): Promise<void> {
    const write = () =>
      writeNodesFile(
        this.#listPath,
        this.#nodes.map(({ enrolled }) => enrolled),
      )
    const writing = this.#listed.then(write)
    this.#listed = writing.catch(() => undefined)
    return writing
  }

  async #open(enrolled: EnrolledNode): Promise<Kept> {
    const path = join(this.#recordsPath, `${enrolled.name}.json`)
    const record = await readNodeRecord(path)
    const parts = nodeParts(enrolled, bmcSettings(enrolled, this.#secrets), record.isOn)
    return { ...parts, name: enrolled.name, enrolled, record, path, written: Promise.resolve() }
  }

  get #listPath(): string {
    return join(this.#folder, 'nodes.json')
  }

  get #recordsPath(): string {
    return join(this.#folder, 'nodes')
  }
}

/** The first that is not refused. Throws what `refuse` throws for the first when it refuses all. */
function firstOf(nodes: readonly Node[], refuse: (node: Node) => void): Node {
  const reasons: unknown[] = []
  for (const node of nodes)
    try {
      refuse(node)
      return node
    } catch (error) {
      reasons.push(error)
    }
  throw reasons[0]
}

/** One BMC switches one machine, and would switch it under the server of the other node. */
function overlaps(one: EnrolledNode, other: EnrolledNode): boolean {
  if (one.name === other.name) return true
  if (macAddressesOf(one).some((mac) => macAddressesOf(other).includes(mac))) return true
  const [bmc, same] = [one.bmc, other.bmc]
  return bmc !== undefined && bmc.address === same?.address && bmc.port === same.port
}

async function refuseForgotten(folder: string, enrolled: readonly EnrolledNode[]): Promise<void> {
  const known = new Set(enrolled.map(({ name }) => `${name}.json`))
  const files = await readdir(folder).catch(ifAbsent([]))
  for (const file of files.filter((name) => name.endsWith('.json') && !known.has(name))) {
    const { instance } = await readNodeRecord(join(folder, file))
    if (instance === null) continue
    const node = file.slice(0, -'.json'.length)
    throw new Failure('invalid', `Node ${node} has server ${instance} and is no longer enrolled.`)
  }
}

/** Writes what the record is by then. A write that fails is the failure of who asked for it alone. */
function writeKept(kept: Kept): Promise<void> {
  const writing = kept.written.then(() => writeNodeRecord(kept.path, kept.record))
  kept.written = writing.catch(() => undefined)
  return writing
}

/** The nodes that were enrolled by the host's last run; none where there is no file. */
async function readNodesFile(path: string): Promise<readonly EnrolledNode[]> {
  const text = await readFile(path, 'utf8').catch(ifAbsent(undefined))
  return text === undefined ? [] : enrolledNodes(text)
}

/** Afterwards the file names these nodes, or what it named before. */
async function writeNodesFile(path: string, nodes: readonly EnrolledNode[]): Promise<void> {
  const partial = `${path}.part`
  await writeFile(partial, JSON.stringify({ nodes }, null, 2), { mode: 0o600, flush: true })
  await rename(partial, path)
}
