import { runOvn } from '#deploy/ovn/daemons.ts'
import type { NetworkState, WirePort, WireRule } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRule,
  wireSubnet,
} from '#test/env/network-state.ts'
import { type OvnTestHost, OvnWorld } from '#test/real/ovn-world.ts'
import { percentile } from '../statistics.ts'
import { answerOn, untilAnswered } from './first-packet.ts'
import type { Options } from './options.ts'

/** In milliseconds. */
export interface Times {
  readonly median: number
  readonly max: number
}

export interface NetworkResults {
  readonly networks: number
  readonly ports: number
  readonly plugged: number
  /** Until the northbound database has all objects, and until every host has carried them out. */
  readonly all: { readonly writtenMs: number; readonly inForceMs: number; readonly upMs: number }
  /** One port more, which is plugged in already, until it is up. */
  readonly onePort: Times
  /** One rule more, until packets that it allows arrive on both hosts. */
  readonly oneRule: Times
  /** Of what has to be written where nothing differs. */
  readonly noChangeMs: number
}

const LIMIT_MS = 120_000
const POLL_MS = 5
const PER_BYTE = 250
/** In the first network, above the others: with more than that many ports of one network addresses meet. */
const WATCHED = 3
const FIRST_WATCHED = 140
const UDP = 17
const FIRST_PORT = 2_000

/** Afterwards the figures are known, and nothing that was started for them runs. */
export async function measureNetwork(
  owned: AsyncDisposableStack,
  { networks, ports, plugged, rounds }: Options,
  progress: (line: string) => void,
): Promise<NetworkResults> {
  progress('Starting OVN with two hosts ...')
  const world = owned.use(await OvnWorld.start())
  const { state, groupIds, watched } = withWatched(stateOf(networks, ports))
  const spare = Array.from({ length: rounds }, (_, round) => sparePort(state, groupIds, round))
  progress(`Plugging ${plugged} ports into each host ...`)
  for (const [place, host] of world.hosts.entries()) {
    const own = state.ports.slice(place * plugged, (place + 1) * plugged)
    await plugAll(host, place === 0 ? [...own, ...spare] : own)
  }
  progress(`Writing ${networks} networks and ${ports} ports ...`)
  const all = await applyAll(world, state, state.ports.slice(0, 2 * plugged))
  const noChangeMs = await elapsed(() => apply(world, state))
  const grown = [...spare.keys()].map((round) => ({
    ...state,
    ports: [...state.ports, ...spare.slice(0, round + 1)],
  }))
  const portTimes: number[] = []
  for (const [round, next] of grown.entries())
    portTimes.push(await elapsed(() => applyUntilUp(world, next, [spare[round]!])))
  const ruleTimes = await measureRules(world, grown.at(-1) ?? state, watched, rounds)
  return {
    ...{ networks, ports, plugged, all, noChangeMs },
    ...{ onePort: timesOf(portTimes), oneRule: timesOf(ruleTimes) },
  }
}

/** Networks with a subnet and a security group each, and their ports. */
function stateOf(networks: number, ports: number) {
  const made = Array.from({ length: networks }, (_, index) => {
    const network = wireNetwork({ name: `net-${index}` })
    const cidr = `10.${index >> 8}.${index & 0xff}.0/24`
    const subnet = wireSubnet(network, cidr, { gateway: cidr.replace('0/24', '1') })
    const http = { protocol: 6, portMin: 80, portMax: 80 }
    return { network, subnet, group: wireGroup(wireRule({ direction: 'egress' }), wireRule(http)) }
  })
  const placed = Array.from({ length: ports }, (_, index) => {
    const { subnet, group } = made[index % networks]!
    return wirePort(subnet, addressIn(subnet.cidr, Math.floor(index / networks)), {
      securityGroupIds: [group.id],
    })
  })
  const state: NetworkState = {
    ...EMPTY_STATE,
    networks: made.map(({ network }) => network),
    subnets: made.map(({ subnet }) => subnet),
    securityGroups: made.map(({ group }) => group),
    ports: placed,
  }
  return { state, groupIds: made.map(({ group }) => group.id) }
}

function sparePort(
  { subnets }: NetworkState,
  groupIds: readonly string[],
  round: number,
): WirePort {
  const at = round % subnets.length
  const address = addressIn(subnets[at]!.cidr, PER_BYTE - 1 - round)
  return wirePort(subnets[at]!, address, { securityGroupIds: [groupIds[at]!] })
}

function addressIn(cidr: string, number: number): string {
  return cidr.replace('0/24', String(2 + (number % PER_BYTE)))
}

/** Two ports of the first network, to which packets are sent, and one from which. */
function withWatched({ state, groupIds }: ReturnType<typeof stateOf>) {
  const watched = Array.from({ length: WATCHED }, (_, place) =>
    wirePort(state.subnets[0]!, addressIn(state.subnets[0]!.cidr, FIRST_WATCHED + place), {
      securityGroupIds: [groupIds[0]!],
    }),
  )
  return { state: { ...state, ports: [...state.ports, ...watched] }, groupIds, watched }
}

/** The time of one more rule, again and again. */
async function measureRules(
  world: OvnWorld,
  state: NetworkState,
  watched: readonly WirePort[],
  rounds: number,
) {
  const { hosts } = world
  const ends = await Promise.all(
    watched.map(async (port, place) => {
      const endpoint = await world.plug(hosts[place % 2]!, port)
      const { address } = port.fixedIps[0]!
      await endpoint.run('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0')
      return { endpoint, address }
    }),
  )
  const [from, ...to] = ends
  await untilUp(world, watched)
  for (const each of to) await answerOn(each, FIRST_PORT, rounds)
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const next = withRules(state, round + 1)
    const asked = { from: from!.endpoint, to, port: FIRST_PORT + round }
    times.push(await untilAnswered(world, asked, () => apply(world, next)))
  }
  return times
}

/** The state with so many more rules of its first group. */
function withRules(state: NetworkState, count: number): NetworkState {
  const [first, ...others] = state.securityGroups
  const more: WireRule[] = Array.from({ length: count }, (_, place) =>
    wireRule({ protocol: UDP, portMin: FIRST_PORT + place, portMax: FIRST_PORT + place }),
  )
  const group = { ...first!, revision: first!.revision + count, rules: [...first!.rules, ...more] }
  return { ...state, securityGroups: [group, ...others] }
}

/** Interfaces of the switch itself: a hundred namespaces would be measured, too. */
async function plugAll({ ovn }: OvnTestHost, ports: readonly WirePort[]): Promise<void> {
  const commands = ports.flatMap(({ id }, index) => [
    ...['--', 'add-port', 'br-int', `p${index}`],
    ...['--', 'set', 'Interface', `p${index}`, 'type=internal', `external_ids:iface-id=${id}`],
  ])
  await ovn.vsctl('--no-wait', ...commands)
}

async function applyAll(world: OvnWorld, state: NetworkState, plugged: readonly WirePort[]) {
  const startedAt = performance.now()
  await apply(world, state)
  const writtenMs = performance.now() - startedAt
  await untilUp(world, plugged)
  const upMs = performance.now() - startedAt
  await inForce(world)
  return { writtenMs, upMs, inForceMs: performance.now() - startedAt }
}

function apply({ engine }: OvnWorld, state: NetworkState): Promise<void> {
  return engine.apply(state, AbortSignal.timeout(LIMIT_MS))
}

async function applyUntilUp(world: OvnWorld, state: NetworkState, ports: readonly WirePort[]) {
  await apply(world, state)
  await untilUp(world, ports)
}

async function untilUp({ bindings }: OvnWorld, ports: readonly WirePort[]): Promise<void> {
  const startedAt = performance.now()
  while (!ports.every(({ id }) => bindings.get(id)?.isUp === true)) {
    if (performance.now() - startedAt > LIMIT_MS) throw new Error('ports do not come up')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Resolves once all hosts have carried out what the databases say now. */
async function inForce({ central, hosts: [{ holder }], directory }: OvnWorld): Promise<void> {
  const place = { holder, directory }
  await runOvn(place, 'ovn-nbctl', [`--db=${central.northbound}`, '--wait=hv', 'sync'])
}

async function elapsed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function timesOf(values: readonly number[]): Times {
  return { median: percentile(values, 0.5), max: Math.max(...values) }
}
