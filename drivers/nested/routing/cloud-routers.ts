import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import type { HostRouter } from '#openapi/wire/routing.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { idsOf, interfaceName, routerName } from '../names.ts'
import { isGuestPort, isInterface, isUnattached, type ListedPort, portsOn } from './topology.ts'

const Gateway = Type.Object({ network_id: Id, enable_snat: Type.Optional(Type.Boolean()) })
const Router = Type.Object({
  id: Id,
  name: Type.String(),
  created_at: Type.Optional(Type.String()),
  admin_state_up: Type.Boolean(),
  external_gateway_info: Type.Optional(Nullable(Gateway)),
  routes: Type.Optional(
    Type.Array(Type.Object({ destination: Type.String(), nexthop: Type.String() })),
  ),
})
export type CloudRouter = Static<typeof Router>

const Routers = Type.Object({ routers: Type.Array(Router) })
const OneRouter = Type.Object({ router: Router })
const MadePort = Type.Object({ port: Type.Object({ id: Id }) })
const Subnets = Type.Object({
  subnets: Type.Array(Type.Object({ id: Id, cidr: Type.String() })),
})

interface FixedIp {
  readonly subnet_id: string
  readonly ip_address: string
}
type Interface = HostRouter['interfaces'][number]

/** Routers of ours in the nested cloud, one for each of ours, known by its name. */
export class CloudRouters {
  readonly #cloud: Cloud

  constructor(cloud: Cloud) {
    this.#cloud = cloud
  }

  /** Those of ours, by our ids, oldest first: there are several of one only after an answer was lost. */
  async list(signal: AbortSignal): Promise<ReadonlyMap<string, readonly CloudRouter[]>> {
    const { projectId } = await this.#cloud.access(signal)
    const asked = { query: { project_id: projectId }, signal }
    const { routers } = (await this.#cloud.ask(Routers, 'network', 'GET', '/routers', asked)).body
    const ageOf = ({ created_at: at = '', id }: CloudRouter) => `${at} ${id}`
    const ours = routers
      .flatMap((router) => idsOf([router.name]).map((id) => ({ id, router })))
      .toSorted((a, b) => ageOf(a.router).localeCompare(ageOf(b.router)))
    const byId = Map.groupBy(ours, ({ id }) => id)
    return new Map([...byId].map(([id, found]) => [id, found.map(({ router }) => router)]))
  }

  /** The router as it is to be, but for its interfaces and routes; `outside`: the network that its gateway is on there. */
  async ensure(
    wanted: HostRouter,
    found: CloudRouter | undefined,
    outside: string | null,
    signal: AbortSignal,
  ): Promise<CloudRouter> {
    const { id, isUp, gateway } = wanted
    const there = found?.external_gateway_info ?? null
    const way =
      outside === null || gateway === null ? null : wayOut(outside, gateway.hasSnat, there)
    if (found === undefined) {
      const router = {
        ...{ name: routerName(id), admin_state_up: isUp },
        ...(way === null ? {} : { external_gateway_info: way }),
      }
      const asked = { body: { router }, signal }
      return (await this.#cloud.ask(OneRouter, 'network', 'POST', '/routers', asked)).body.router
    }
    const isSame = there?.network_id === way?.network_id && way?.enable_snat === undefined
    const change = {
      ...(found.admin_state_up === isUp ? {} : { admin_state_up: isUp }),
      ...(isSame ? {} : { external_gateway_info: way }),
    }
    return this.#change(found, change, signal)
  }

  /** Afterwards the router has these routes; its interfaces are there already. */
  async route(router: CloudRouter, { routes }: HostRouter, signal: AbortSignal): Promise<void> {
    const asText = (list: readonly { readonly destination: string; readonly nexthop: string }[]) =>
      list.map(({ destination, nexthop }) => `${destination} ${nexthop}`).toSorted()
    if (isDeepStrictEqual(asText(router.routes ?? []), asText(routes))) return
    await this.#change(router, { routes }, signal)
  }

  /**
   * Afterwards the router is on this network with these addresses, by a port that is found or made for it: with those for
   * which the network has a subnet there, which it has once a guest is on it.
   */
  async attach(
    { id }: CloudRouter,
    wanted: Interface,
    networkId: string,
    ports: readonly ListedPort[],
    signal: AbortSignal,
  ): Promise<void> {
    const fixedIps = await this.#fixedIps(wanted, networkId, signal)
    if (fixedIps.length === 0) return
    const name = interfaceName(wanted.portId)
    const found = ports.find((port) => port.name === name && port.network_id === networkId)
    const isAsWanted =
      found !== undefined &&
      isDeepStrictEqual(addressesOf(found), addressesOf({ fixed_ips: [...fixedIps] }))
    const isOn = found !== undefined && isInterface(found)
    if (isAsWanted && isOn && found.device_id === id) return
    if (found !== undefined && isOn) await this.detach(found.device_id, found.id, signal)
    else if (found !== undefined && !isAsWanted) await this.#removePort(found.id, signal)
    const portId =
      isAsWanted && !isOn ? found.id : await this.#makePort(name, networkId, fixedIps, signal)
    await this.#put(`/routers/${id}/add_router_interface`, { port_id: portId }, signal)
  }

  /** Afterwards the router is not on the network by this port, which is gone. */
  async detach(routerId: string, portId: string, signal: AbortSignal): Promise<void> {
    const path = `/routers/${routerId}/remove_router_interface`
    await this.#put(path, { port_id: portId }, signal).catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
    })
  }

  /** Afterwards the router is not there. Throws `conflict` while it is on a network or a floating IP needs it. */
  async remove(routerId: string, signal: AbortSignal): Promise<void> {
    await this.#cloud
      .call('network', 'DELETE', `/routers/${routerId}`, { signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'not-found')) throw error
      })
  }

  /** Afterwards no router of ours is on a network there that no guest of ours is on any more, nor is one left without a network. */
  async leave(networkId: string, signal: AbortSignal): Promise<void> {
    const ports = await portsOn(this.#cloud, networkId, signal)
    if (ports.some(isGuestPort)) return
    for (const port of ports) if (isUnattached(port)) await this.#removePort(port.id, signal)
    const interfaces = ports.filter(isInterface)
    if (interfaces.length === 0) return
    const ours = [...(await this.list(signal)).values()].flat()
    for (const { id, device_id: routerId } of interfaces) {
      if (!ours.some((router) => router.id === routerId)) continue
      await this.detach(routerId, id, signal)
      await this.#removeUnused(routerId, signal)
    }
  }

  async #fixedIps(
    { addresses }: Interface,
    networkId: string,
    signal: AbortSignal,
  ): Promise<readonly FixedIp[]> {
    const asked = { query: { network_id: networkId }, signal }
    const { subnets } = (await this.#cloud.ask(Subnets, 'network', 'GET', '/subnets', asked)).body
    return addresses.flatMap(({ cidr, address }) => {
      const subnet = subnets.find((each) => each.cidr === cidr)
      return subnet === undefined ? [] : [{ subnet_id: subnet.id, ip_address: address }]
    })
  }

  async #makePort(
    name: string,
    networkId: string,
    fixedIps: readonly FixedIp[],
    signal: AbortSignal,
  ): Promise<string> {
    const port = { name, network_id: networkId, security_groups: [], fixed_ips: fixedIps }
    const asked = { body: { port }, signal }
    return (await this.#cloud.ask(MadePort, 'network', 'POST', '/ports', asked)).body.port.id
  }

  async #removePort(id: string, signal: AbortSignal): Promise<void> {
    await this.#cloud
      .call('network', 'DELETE', `/ports/${id}`, { signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'not-found')) throw error
      })
  }

  /** Afterwards the router is not there, unless it is on a network or the cloud refuses for now. */
  async #removeUnused(routerId: string, signal: AbortSignal): Promise<void> {
    await this.remove(routerId, signal).catch((error: unknown) => {
      if (!isFailure(error, 'conflict')) throw error
    })
  }

  async #change(found: CloudRouter, router: object, signal: AbortSignal): Promise<CloudRouter> {
    if (Object.keys(router).length === 0) return found
    const asked = { body: { router }, signal }
    const path = `/routers/${found.id}`
    return (await this.#cloud.ask(OneRouter, 'network', 'PUT', path, asked)).body.router
  }

  async #put(path: string, body: object, signal: AbortSignal): Promise<void> {
    await this.#cloud.call('network', 'PUT', path, { body, signal })
  }
}

/** Neutron lets administrators alone name `enable_snat`, so it is named where it differs only; a new gateway has it. */
function wayOut(
  outside: string,
  hasSnat: boolean,
  there: Static<typeof Gateway> | null,
): Static<typeof Gateway> {
  const isSame = (there?.enable_snat ?? true) === hasSnat
  return { network_id: outside, ...(isSame ? {} : { enable_snat: hasSnat }) }
}

function addressesOf({ fixed_ips: ips }: Pick<ListedPort, 'fixed_ips'>): readonly string[] {
  return ips.map(({ ip_address }) => ip_address).toSorted()
}
