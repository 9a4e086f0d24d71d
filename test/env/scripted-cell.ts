import type { NatsConnection } from '@nats-io/transport-node'
import { connectBus } from '#common/bus/connect.ts'
import { serve } from '#common/bus/serve.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import {
  CELL_OPERATIONS,
  type CellAnswer,
  type CellAsk,
  type CellOperation,
} from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import type { CellHeartbeat, CellSummary, FeedBody, FeedRow } from '#openapi/wire/feed.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { cellSubject, eventSubject } from '#openapi/wire.ts'
import type { FreshBus } from './fresh-bus.ts'

const HEARTBEAT_MS = 100
const log = createLogger('scripted-cell', 'silent')

const ROOM = { vcpus: 1_000_000, memoryMb: 1_000_000_000, diskGb: 1_000_000_000 }

export const HONEST_SUMMARY: CellSummary = {
  hostsUp: 1,
  hosts: 1,
  zones: ['nova'],
  simulated: true,
  hypervisorTypes: ['fake'],
  architectures: ['x86_64'],
  imageFormats: ['raw', 'qcow2'],
  traits: [],
  free: ROOM,
  largest: ROOM,
  instances: 0,
}

export const HOSTS_TRACE: Trace = {
  at: 1,
  level: 'hosts',
  considered: 1,
  filters: [],
  scores: [],
  lostClaims: [],
  chosen: 'host-1',
  tookMs: 0,
}

type BuildAnswer = CellAnswer<'instance.build'>
type Handlers = {
  [O in CellOperation]?: (ask: CellAsk<O>) => Promise<CellAnswer<O>> | CellAnswer<O>
}

/**
 * Replaces a cell on the bus: it remembers its answers per (server, attempt) as the contract demands, and a test
 * scripts its decisions and its messages. It builds and deletes nothing.
 */
export class ScriptedCell implements AsyncDisposable {
  readonly id: CellId
  readonly name: string
  /** The outcomes of the next builds; absent: accepted. */
  decide: (ask: CellAsk<'instance.build'>) => 'accepted' | 'refused' = () => 'accepted'
  /** Whether a build that was accepted becomes ACTIVE by itself. */
  isPrompt = true
  summary: CellSummary = HONEST_SUMMARY
  incarnation = newId<string>()
  /** Every build asked, repeats included. */
  readonly builds: CellAsk<'instance.build'>[] = []
  readonly deletes: CellAsk<'instance.delete'>[] = []
  readonly views = new Map<string, InstanceView>()
  rows: FeedRow[] = []
  overrides: Handlers = {}
  /** Properties that a later release may add to all its messages. */
  added: object = {}
  /** Operations that it does not serve, like an older release. */
  unknown: readonly CellOperation[] = []
  readonly #outcomes = new Map<string, BuildAnswer>()
  readonly #nats: NatsConnection
  #serving: AsyncDisposable[] = []
  #beating: NodeJS.Timeout | undefined

  private constructor(id: CellId, name: string, nats: NatsConnection) {
    this.id = id
    this.name = name
    this.#nats = nats
  }

  static async open(bus: FreshBus, id: CellId, name: string): Promise<ScriptedCell> {
    const credentialsFile = await bus.cellCredentialsFile(id)
    const nats = await connectBus({ url: bus.url, credentialsFile, name }, log)
    const cell = new ScriptedCell(id, name, nats)
    cell.appear()
    return cell
  }

  /** Serves and beats, as after a start. */
  appear(): void {
    const operations = Object.keys(CELL_OPERATIONS) as CellOperation[]
    const known = operations.filter((operation) => !this.unknown.includes(operation))
    this.#serving = known.map((operation) =>
      serve(
        this.#nats,
        {
          subject: cellSubject(this.id, operation),
          queue: 'cell',
          parse: (payload) => checked(CELL_OPERATIONS[operation].ask, payload, operation),
          handle: async (ask: never) => this.#tampered(await this.#handle(operation, ask)),
        },
        log,
      ),
    )
    this.startBeating()
  }

  startBeating(): void {
    this.stopBeating()
    this.#beating = setInterval(() => this.beat(), HEARTBEAT_MS)
    this.beat()
  }

  /** Serves on, and counts as unreachable after a while. */
  stopBeating(): void {
    clearInterval(this.#beating)
  }

  /** Falls silent, as when killed or cut off. */
  async vanish(): Promise<void> {
    this.stopBeating()
    for (const served of this.#serving.splice(0)) await served[Symbol.asyncDispose]()
  }

  beat(): void {
    const beat: CellHeartbeat = {
      ...this.added,
      incarnation: this.incarnation,
      position: this.rows.at(-1)?.n ?? 0,
      process: 'scripted',
      at: Date.now(),
      summary: this.#tampered(this.summary),
      labels: {},
    }
    this.#nats.publish(eventSubject(this.id, 'heartbeat'), JSON.stringify(beat))
  }

  /** The same; afterwards it is with the bus. */
  async beatAndFlush(): Promise<void> {
    this.beat()
    await this.#nats.flush()
  }

  /** Adds changes to the feed; 'lost' ones are never published and must be asked for. */
  emit(bodies: readonly FeedBody[], how: 'published' | 'lost' = 'published'): readonly FeedRow[] {
    const after = this.rows.at(-1)?.n ?? 0
    const rows = bodies.map((body, index) => ({ n: after + index + 1, body }))
    this.rows.push(...rows)
    if (how === 'published') this.publish(rows)
    return rows
  }

  publish(rows: readonly FeedRow[], incarnation = this.incarnation): void {
    const sent = rows.map(({ n, body }) => ({ n, body: this.#tampered(body) }))
    const batch = this.#tampered({ incarnation, rows: sent })
    this.publishText(JSON.stringify(batch))
  }

  /** Publishes this text as its feed. */
  publishText(text: string): void {
    this.#nats.publish(eventSubject(this.id, 'feed'), text)
  }

  /** Changes the cell's view of an instance and raises its version. */
  change(serverId: string, change: Partial<InstanceView>): InstanceView {
    const before = this.views.get(serverId)!
    const view = { ...before, version: before.version + 1, ...change }
    this.views.set(serverId, view)
    return view
  }

  active(serverId: string): InstanceView {
    return this.change(serverId, {
      vmState: 'active',
      taskState: null,
      powerState: 1,
      launchedAt: Date.now(),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.vanish()
    await this.#nats.close()
  }

  #tampered<Sent>(answer: Sent): Sent {
    return { ...answer, ...this.added }
  }

  async #handle(operation: CellOperation, ask: never): Promise<unknown> {
    const override = this.overrides[operation] as ((ask: never) => unknown) | undefined
    if (override !== undefined) return override(ask)
    switch (operation) {
      case 'instance.build':
        return this.build(ask)
      case 'instance.delete':
        return this.delete(ask)
      case 'site.announce':
        return { generation: 1 }
      case 'image.pin':
      case 'image.preload':
        return { state: 'cached', fetchedBytes: 0 }
      case 'image.cached':
        return { state: 'absent', fetchedBytes: 0 }
      case 'placement.explain':
        return { trace: HOSTS_TRACE }
      case 'host.filter-ports':
      case 'host.label':
        return { applied: [] }
      case 'image.unpin':
      case 'instance.change-nic':
        return {}
      case 'instance.act':
        return this.act(ask)
      case 'instance.console-log':
        return { output: 'booted' }
      case 'instance.audit':
        return {
          view: this.views.get((ask as CellAsk<'instance.audit'>).serverId) ?? null,
          heldOn: [],
        }
      case 'instance.diagnostics':
      case 'instance.move-progress':
        throw new Failure('unsupported', 'A scripted cell counts nothing')
      case 'feed.read':
        return this.#read(ask)
      case 'snapshot.read':
        return this.#snapshot(ask)
      case 'snapshot.hosts':
        return { incarnation: this.incarnation, hosts: [], isLast: true }
      case 'saga.list-stuck':
        return { sagas: [] }
      case 'network.list':
        return { objects: [], isLast: true }
      case 'network.apply':
        return {}
      case 'saga.continue':
        return { isContinued: false }
      case 'snapshot.volumes':
        return { incarnation: this.incarnation, position: 0, volumes: [], isLast: true }
      case 'snapshot.volume-snapshots':
        return { incarnation: this.incarnation, position: 0, snapshots: [], isLast: true }
      case 'volume.create':
      case 'volume.delete':
      case 'volume.extend':
      case 'volume.box-key':
      case 'volume.upload':
      case 'volume.revert':
      case 'volume.reimage':
      case 'volume.migrate':
      case 'volume.change-encryption':
      case 'volume-snapshot.create':
      case 'volume-snapshot.delete':
      case 'instance.change-volume':
      case 'instance.swap-volume':
        throw new Failure('unsupported', 'A scripted cell has no stores')
      case 'snapshot.ended':
        return { ended: [] }
      case 'host.uptime':
      case 'host.forget':
      case 'host.set-service':
      case 'host.set-aggregates':
      case 'host.set-provider':
      case 'host.unmanaged-guests':
      case 'host.strangers':
        throw new Error('A scripted cell has no hosts')
    }
  }

  /** The reply of a correct cell to a build: decided once per attempt, and then always the same. */
  build(ask: CellAsk<'instance.build'>): BuildAnswer {
    this.builds.push(ask)
    const { serverId, attempt } = ask.operation
    const key = `${serverId} ${attempt}`
    const known = this.#outcomes.get(key)
    if (known !== undefined) return known
    const answer = this.#decided(ask)
    this.#outcomes.set(key, answer)
    if (answer.outcome === 'accepted' && this.isPrompt)
      setImmediate(() => this.emit([{ kind: 'instance', view: this.active(serverId) }]))
    return answer
  }

  delete(ask: CellAsk<'instance.delete'>): CellAnswer<'instance.delete'> {
    this.deletes.push(ask)
    const { serverId, attempt } = ask.operation
    this.#outcomes.set(`${serverId} ${attempt}`, { outcome: 'deleted' })
    this.views.delete(serverId)
    return { outcome: 'deleted' }
  }

  #decided(ask: CellAsk<'instance.build'>): BuildAnswer {
    if (this.decide(ask) === 'refused')
      return { outcome: 'refused', reason: 'No host fits.', trace: HOSTS_TRACE }
    const { serverId, attempt } = ask.operation
    const view: InstanceView = {
      serverId,
      attempt,
      version: 1,
      vmState: 'building',
      taskState: 'spawning',
      powerState: 0,
      hostId: newId(),
      host: `${this.name}-host-1`,
      hypervisorHostname: `${this.name}-host-1`,
      instanceName: `instance-${serverId.slice(-8)}`,
      zone: 'nova',
      launchedAt: null,
      terminatedAt: null,
      fault: null,
    }
    this.views.set(serverId, view)
    return { outcome: 'accepted', view, trace: HOSTS_TRACE }
  }

  /** Starts and stops; all other acts have no effect. */
  act({ operation, act }: CellAsk<'instance.act'>): CellAnswer<'instance.act'> {
    const isStop = act.name === 'stop'
    return {
      view: this.change(operation.serverId, {
        vmState: isStop ? 'stopped' : 'active',
        powerState: isStop ? 4 : 1,
      }),
    }
  }

  #read({ incarnation, after, limit }: CellAsk<'feed.read'>): CellAnswer<'feed.read'> {
    const isGap = incarnation !== this.incarnation || (this.rows[0]?.n ?? 1) > after + 1
    const rows = isGap ? [] : this.rows.filter(({ n }) => n > after).slice(0, limit)
    return { incarnation: this.incarnation, isGap, last: this.rows.at(-1)?.n ?? 0, rows }
  }

  #snapshot({ afterInstance, limit }: CellAsk<'snapshot.read'>): CellAnswer<'snapshot.read'> {
    const left = [...this.views.values()]
      .filter(({ serverId }) => afterInstance === null || serverId > afterInstance)
      .toSorted((a, b) => (a.serverId < b.serverId ? -1 : 1))
    return {
      incarnation: this.incarnation,
      position: this.rows.at(-1)?.n ?? 0,
      instances: left.slice(0, limit),
      isLast: left.length <= limit,
    }
  }
}
