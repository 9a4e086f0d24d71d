import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import { type CellHeartbeat, UNREAD_CLAIMS_MAX } from '#openapi/wire/feed.ts'
import type { PlacedOn } from '../conductor/instance.ts'
import { findHosts, hostUsage } from '../db/hosts.ts'
import { imagePropertyUses, type PropertyUses, withUses } from '../db/image-property-uses.ts'
import { ioOpsByHost } from '../db/io-ops.ts'
import type { CountedNode } from '../placement/choose-nodes.ts'
import { addResources, type Resources } from '../placement/resources.ts'
import type { HostState } from '../scheduler/host-state.ts'
import { HostTable, type HostUsage } from '../scheduler/host-table.ts'
import { type Host, type Provider, traitsOf } from './host.ts'
import { hostsAsRead } from './hosts-as-read.ts'
import { countedNodesOf, maxUnitsOf } from './offer.ts'

export interface HostRegistryOptions {
  readonly db: Executor
  readonly clock: Clock
  /** A host without a report for longer than this is down. */
  readonly downAfterMs: number
  /** True where the scheduling asks how much hosts have to do. */
  readonly countsIoOps: boolean
  /** True where it asks which images the servers of hosts have. */
  readonly countsImageProperties: boolean
}

interface LastReport {
  readonly at: number
  /** By `Clock.elapsed`. */
  readonly elapsedAt: number
  readonly down: string | null
  readonly metrics: HostState['metrics']
}

const NO_METRICS: HostState['metrics'] = {}
const NO_USES: PropertyUses = new Map()

/** What a claim that is being written takes, and for a server of which image. */
interface Reservation {
  readonly resources: Resources
  readonly imageProperties?: Readonly<Record<string, string>>
}

/**
 * The hosts of the cell as this process knows them: their rows as last read, and the time of their last reports. A hint
 * for scheduling only; claims decide about capacity.
 */
export class HostRegistry {
  readonly #options: HostRegistryOptions
  readonly #openedAt: number
  /** By `Clock.elapsed`. */
  #listeningSince: number
  #hosts = new Map<HostId, Host>()
  /** By `Clock.elapsed`, of the last read that succeeded. */
  #readAt = Number.NEGATIVE_INFINITY
  readonly #shown = new Map<HostId, number>()
  readonly #reports = new Map<HostId, LastReport>()
  #ioOps: ReadonlyMap<HostId, number> = new Map()
  #propertyUses: ReadonlyMap<HostId, PropertyUses> = new Map()
  readonly #buildFailures = new Map<HostId, number>()
  /** Undefined: no decision has needed it since the hosts changed. */
  #table: HostTable | undefined
  #claimsMade = 0
  /** By number, until they are committed or have failed. */
  readonly #claimsOpen = new Set<number>()
  /** Those that the last read may have missed. */
  #claimsUnread: readonly number[] = []

  constructor(options: HostRegistryOptions) {
    this.#options = options
    this.#openedAt = options.clock.elapsed()
    this.#listeningSince = this.#openedAt
  }

  /** Reads usage of all hosts, and those whole that have changed. */
  async refresh(): Promise<void> {
    const { db, countsIoOps, countsImageProperties } = this.#options
    const begunAt = this.#options.clock.elapsed()
    const before = this.#claimsMade
    const open = [...this.#claimsOpen]
    const usage = await hostUsage(db)
    if (countsIoOps) this.#ioOps = await ioOpsByHost(db)
    if (countsImageProperties) this.#propertyUses = await imagePropertyUses(db)
    const changed = usage.filter(({ id, version }) => this.#hosts.get(id)?.version !== version)
    const fresh = await findHosts(
      db,
      changed.map(({ id }) => id),
    )
    this.#hosts = hostsAsRead(this.#hosts, usage, fresh)
    const since = Array.from({ length: this.#claimsMade - before }, (_, nth) => before + nth + 1)
    this.#claimsUnread = [...open, ...since]
    for (const { id, shownGeneration } of usage) this.#shown.set(id, shownGeneration)
    this.#table = undefined
    this.#readAt = begunAt
  }

  /** How old this process's knowledge of the hosts' rows is. */
  get readAgeMs(): number {
    return this.#options.clock.elapsed() - this.#readAt
  }

  all(): readonly Host[] {
    return [...this.#hosts.values()]
  }

  get(id: HostId): Host | undefined {
    return this.#hosts.get(id)
  }

  /** Records a report of the host; `measured` undefined: its metrics are as they were. */
  recordReport(id: HostId, down: string | null, measured?: HostState['metrics']): void {
    const { clock } = this.#options
    const host = this.#hosts.get(id)
    const wasUp = host !== undefined && this.isUp(host)
    const metrics = measured ?? this.#reports.get(id)?.metrics ?? NO_METRICS
    this.#reports.set(id, { at: clock.now(), elapsedAt: clock.elapsed(), down, metrics })
    if (host !== undefined && this.isUp(host) !== wasUp) this.#table = undefined
    else if (measured !== undefined) this.#refill(id)
  }

  /** Records how a build on the host ended, by which later decisions may prefer other hosts. */
  recordBuild(id: HostId, isBuilt: boolean): void {
    if (isBuilt && !this.#buildFailures.has(id)) return
    if (isBuilt) this.#buildFailures.delete(id)
    else this.#buildFailures.set(id, (this.#buildFailures.get(id) ?? 0) + 1)
    this.#refill(id)
  }

  /** The time of the host's last report to this process, or to the process that wrote its row. */
  lastSeenAt(host: Host): number {
    return Math.max(host.lastSeenAt, this.#reports.get(host.id)?.at ?? 0)
  }

  /** How long this process has listened and had no report of the host. */
  silentMs(id: HostId): number {
    const reportedAt = this.#reports.get(id)?.elapsedAt ?? 0
    return this.#options.clock.elapsed() - Math.max(reportedAt, this.#listeningSince)
  }

  /** Reports may have been missed until now: every host is given its time again. */
  restartSilence(): void {
    this.#listeningSince = this.#options.clock.elapsed()
  }

  /** A host without a report for longer than this is down. */
  get downAfterMs(): number {
    return this.#options.downAfterMs
  }

  /** Why the backend cannot be used, according to the last report. */
  downReason(host: Host): string | null {
    const report = this.#reports.get(host.id)
    return report === undefined ? host.down : report.down
  }

  /** A process that has just subscribed gives every host that was up the time to report. */
  isUp(host: Host): boolean {
    if (host.isForcedDown || this.downReason(host) !== null) return false
    const { clock, downAfterMs } = this.#options
    const reportedAt = this.#reports.get(host.id)?.elapsedAt ?? Number.NEGATIVE_INFINITY
    const since = host.isUp ? Math.max(reportedAt, this.#openedAt) : reportedAt
    if (clock.elapsed() - since <= downAfterMs) return true
    // Written by another process: a time in the future comes from a clock that has been set back since.
    return Math.abs(clock.now() - host.lastSeenAt) <= downAfterMs
  }

  /** True when the feed has an older usage than this process knows. */
  isUsageNews({ id, provider }: Host): boolean {
    return provider !== null && provider.generation !== this.#shown.get(id)
  }

  /** How many claims have been counted, and which of them the usage of the hosts may lack; undefined: too many to name. */
  claims(): CellHeartbeat['claims'] {
    if (this.#claimsUnread.length > UNREAD_CLAIMS_MAX) return undefined
    return { made: this.#claimsMade, unread: [...this.#claimsUnread] }
  }

  /**
   * Counts a claim that is being written, so that the next decision sees it; the next refresh puts it right. Returns the
   * number of the claim, which is open until `settleClaim`.
   */
  reserve(id: HostId, taken: Reservation): number {
    this.#claimsMade += 1
    this.#claimsOpen.add(this.#claimsMade)
    this.#take(id, taken)
    return this.#claimsMade
  }

  /** The claim is committed, or has failed: reads that begin from now on know. */
  settleClaim(nth: number): void {
    this.#claimsOpen.delete(nth)
  }

  #take(id: HostId, { resources, imageProperties = {} }: Reservation): void {
    const host = this.#hosts.get(id)
    if (host?.provider == null) return
    const { used, instances } = host.provider
    const provider: Provider = {
      ...host.provider,
      used: addResources(used, resources),
      instances: instances + 1,
    }
    this.#hosts.set(id, { ...host, provider })
    if (this.#options.countsIoOps)
      this.#ioOps = new Map(this.#ioOps).set(id, (this.#ioOps.get(id) ?? 0) + 1)
    if (this.#options.countsImageProperties) {
      const uses = withUses(this.#propertyUses.get(id), imageProperties, 1)
      this.#propertyUses = new Map(this.#propertyUses).set(id, uses)
    }
    this.#refill(id)
  }

  /** The NUMA nodes of the host of which claims count what they have. */
  countedNodes(id: HostId): readonly CountedNode[] {
    const inventory = this.#hosts.get(id)?.inventory
    return inventory == null ? [] : countedNodesOf(inventory)
  }

  /** Counts what such a claim takes of NUMA nodes, which is chosen only while it is written. */
  reserveNodes(id: HostId, ofNodes: Resources): void {
    const host = this.#hosts.get(id)
    if (host?.provider == null) return
    const used = addResources(host.provider.used, ofNodes)
    this.#hosts.set(id, { ...host, provider: { ...host.provider, used } })
    this.#refill(id)
  }

  /** The hosts as the scheduler compares them, as last read: one that has fallen silent since counts as up until then. */
  table(): HostTable {
    this.#table ??= new HostTable(this.states())
    return this.#table
  }

  #refill(id: HostId): void {
    const provider = this.#hosts.get(id)?.provider
    if (provider != null) this.#table?.put(id, this.#usageOf(id, provider))
  }

  #usageOf(id: HostId, { used, instances }: Provider): HostUsage {
    const ioOps = this.#ioOps.get(id) ?? 0
    const buildFailures = this.#buildFailures.get(id) ?? 0
    const metrics = this.#reports.get(id)?.metrics ?? NO_METRICS
    const imagePropertyUses = this.#propertyUses.get(id) ?? NO_USES
    return { used, instances, ioOps, buildFailures, metrics, imagePropertyUses }
  }

  /** Hosts as the scheduler compares them; those never seen with an inventory are left out. */
  states(): readonly HostState[] {
    const states: HostState[] = []
    const mapped = this.#mappedNetworks()
    for (const host of this.#hosts.values()) {
      const state = this.#stateOf(host, mapped)
      if (state !== undefined) states.push(state)
    }
    return states
  }

  /** The same of one host, as `table` has it. */
  state(id: HostId): HostState | undefined {
    return this.table().state(id)
  }

  /** The physical networks for which a host that is up has a bridge. */
  #mappedNetworks(): readonly string[] {
    const up = [...this.#hosts.values()].filter((host) => host.network !== null && this.isUp(host))
    return [...new Set(up.flatMap(({ network }) => network!.physicalNetworks))]
  }

  #stateOf(host: Host, mappedNetworks: readonly string[]): HostState | undefined {
    const { inventory, provider } = host
    if (inventory === null || provider === null) return undefined
    return {
      hostId: host.id,
      name: host.name,
      zone: host.zone,
      isUp: this.isUp(host),
      isDisabled: host.isDisabled,
      simulated: host.simulated,
      filtersPorts: host.simulated || host.capabilities.includes('firewall'),
      machineSegments: inventory.machineSegments ?? null,
      mappedNetworks,
      hypervisorType: inventory.hypervisor.type,
      hypervisorVersion: inventory.hypervisor.version,
      hypervisorHostname: inventory.hypervisor.hostname,
      address: inventory.hypervisor.address ?? null,
      architecture: inventory.architecture,
      cpu: inventory.cpu,
      traits: traitsOf(host),
      machineTraits: inventory.machineTraits ?? null,
      isOfMachines: inventory.machines !== undefined,
      numa: inventory.numa ?? null,
      extraSpecs: inventory.extraSpecs ?? null,
      imageProperties: inventory.imageProperties ?? null,
      hasOwnFlavors: inventory.hasOwnFlavors === true,
      imageFormats: inventory.imageFormats,
      limits: provider.limits,
      maxUnits: maxUnitsOf(inventory),
      countedNodes: countedNodesOf(inventory),
      ...this.#usageOf(host.id, provider),
      ...(inventory.instancesMax !== undefined && { instancesMax: inventory.instancesMax }),
      aggregates: host.aggregates,
    }
  }

  /** True when an operator or the cell has declared the host down: nothing of it runs any more. */
  isForcedDown(id: HostId): boolean {
    return this.#hosts.get(id)?.isForcedDown === true
  }

  /** True when OVN joins the ports of the host's guests. */
  isJoinedByOvn(id: HostId): boolean {
    return this.#hosts.get(id)?.capabilities.includes('network-ovn') === true
  }

  /** True when the backend of the host has routers of its own. */
  hasRouting(id: HostId): boolean {
    return this.#hosts.get(id)?.capabilities.includes('routing') === true
  }

  /** Where a server is once it is placed on this host; undefined for a host that cannot take any. */
  placedOn(id: HostId): PlacedOn | undefined {
    const host = this.#hosts.get(id)
    if (host?.inventory == null) return undefined
    return {
      hostId: id,
      host: host.name,
      hypervisorHostname: host.inventory.hypervisor.hostname,
      zone: host.zone,
    }
  }
}
