import { setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '#common/clock.ts'
import type { CellRequirements } from '#gateway/app/cells/cell-request.ts'
import type { AppliedPolicy } from '#gateway/app/placement-policies/applied-policy.ts'
import { GroupJoins } from '#gateway/app/server-groups/group-joins.ts'
import { chooseCells } from '#gateway/app/servers/boot/choose-cells.ts'
import { HeldRoom } from '#gateway/app/servers/boot/held-room.ts'
import { NO_RULES, type PlacementRules } from '#gateway/db/placement-policies.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { percentile } from '../statistics.ts'
import type { GatewaySite } from './gateway-site.ts'

/** What the decisions about one kind of request took, each from its begin to the chosen cell. */
export interface ChoiceFigures {
  readonly name: string
  readonly decisions: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
}

interface Situation {
  readonly name: string
  /** Of the nth request. */
  readonly requirements: (nth: number) => Partial<CellRequirements>
  /** Servers of a request; absent: 1. */
  readonly count?: number
  readonly decisions: number
  /** What is decided is that no cell can take the server. */
  readonly fails?: boolean
}

const WARM_UP = 200
const FLAVORS = [
  flavor('m1.tiny', 1, 512, 1),
  flavor('m1.small', 1, 2_048, 20),
  flavor('m1.large', 4, 8_192, 80),
  flavor('m1.huge', 32, 131_072, 400),
] as const
const PRICES = {
  currency: 'EUR',
  default: { vcpu: 0.01, memory_gib: 0.005 },
  cells: Object.fromEntries(
    Array.from({ length: 50 }, (_, nth) => [
      `site-${String(nth * 4 + 1).padStart(3, '0')}`,
      { vcpu: 0.01 + nth / 1_000, memory_gib: 0.006 },
    ]),
  ),
}

function flavor(name: string, vcpus: number, memoryMb: number, rootGb: number): FlavorSnapshot {
  const none = { ephemeralGb: 0, swapMb: 0 }
  return { id: name, name, vcpus, memoryMb, rootGb, ...none, extraSpecs: {} }
}

function situations(projectId: string): readonly Situation[] {
  const policy = (name: string, rules: Partial<PlacementRules>): AppliedPolicy => ({
    ...{ id: name, name, projectId, boundBy: 'project' },
    rules: { ...NO_RULES, ...rules },
  })
  const accelerated = { ...FLAVORS[2], extraSpecs: { 'resources:CUSTOM_ACCELERATOR': '1' } }
  const preference = ['eu', 'us'].map((region) => ({ cells: [], labels: { region } }))
  const tolerations = [{ key: 'reserved', value: null, effect: null }]
  const priced = policy('priced', { preference, tolerations, costWeight: 0.5 })
  const limits = { servers: 5_000, vcpus: null, memoryMb: null }
  const spread = { over: 'zone', maxSkew: 50, isRequired: true } as const
  const properties = { hw_architecture: 'x86_64', hypervisor_type: 'qemu' }
  return [
    { name: 'anywhere', requirements: () => ({}), decisions: 3_000 },
    {
      name: 'in a zone, for an image with properties',
      requirements: (nth) => ({
        zone: `zone-${nth % 12}`,
        image: { diskFormat: 'qcow2', properties },
      }),
      decisions: 3_000,
    },
    {
      name: 'with a custom resource',
      requirements: () => ({ flavor: accelerated }),
      decisions: 3_000,
    },
    {
      name: 'policy: preference, tolerations, prices',
      requirements: () => ({ policy: priced }),
      decisions: 3_000,
    },
    {
      name: 'policy: spread over zones, limits per cell',
      requirements: () => ({ policy: policy('even', { spread, limits }) }),
      decisions: 1_000,
    },
    {
      name: '500 servers of one request, each',
      requirements: () => ({}),
      count: 500,
      decisions: 10_000,
    },
    {
      name: 'no cell has the zone: the index of hosts is read',
      requirements: () => ({ zone: 'zone-99' }),
      decisions: 100,
      fails: true,
    },
  ]
}

/** How long a gateway takes to choose a cell, for one kind of request after the other. */
export async function measureChoices(site: GatewaySite): Promise<readonly ChoiceFigures[]> {
  const all: ChoiceFigures[] = []
  for (const situation of situations(site.projectId)) all.push(await measured(site, situation))
  return all
}

async function measured(site: GatewaySite, situation: Situation): Promise<ChoiceFigures> {
  const { name, decisions, count = 1 } = situation
  for (let nth = 0; nth < Math.min(WARM_UP, decisions); nth += count)
    await decide(site, situation, nth)
  const times: number[] = []
  for (let nth = 0; nth < decisions; nth += count) {
    // Heartbeats come in between, as in a gateway.
    await turn()
    const began = performance.now()
    await decide(site, situation, nth)
    times.push((performance.now() - began) / count)
  }
  return {
    name,
    decisions,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    longestMs: percentile(times, 1),
  }
}

async function decide(
  { db, cells }: GatewaySite,
  { name, requirements, count = 1, fails = false }: Situation,
  nth: number,
): Promise<void> {
  const deps = {
    cells,
    clock: systemClock,
    random: Math.random,
    schedulingPolicy: 'filter',
    prices: PRICES,
    groupJoins: new GroupJoins(systemClock),
  } as const
  const required: CellRequirements = {
    flavor: FLAVORS[nth % FLAVORS.length]!,
    image: { diskFormat: 'qcow2', properties: {} },
    ...{ zone: null, requestedHost: null, networks: [], group: null, sameHost: undefined },
    ...{ cellHints: {}, policy: null, hints: {} },
    ...requirements(nth),
  }
  // Nothing is built, so the next request finds the room that this one is given.
  using room = new HeldRoom(deps)
  const choices = await chooseCells(deps, db, required, { count, fitting: new Map(), room })
  if (choices.some(({ chosen }) => (chosen === undefined) !== fails))
    throw new Error(`${name}: the sample federation does not decide as expected.`)
}
