import { type Static, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostFloatingIp } from '#openapi/wire/routing.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { type Mark, marked, markOf } from './mark.ts'

const FloatingIp = Type.Object({
  id: Id,
  floating_network_id: Id,
  floating_ip_address: Type.String(),
  port_id: Nullable(Type.String()),
  fixed_ip_address: Nullable(Type.String()),
  description: Type.Optional(Nullable(Type.String())),
  /** Absent where the cloud does not say. */
  status: Type.Optional(Type.String()),
  /** Of another Weir, for its administrators: why it is not ACTIVE. */
  'weir:problem': Type.Optional(Nullable(Type.String())),
})
type FloatingIp = Static<typeof FloatingIp>

const FloatingIps = Type.Object({ floatingips: Type.Array(FloatingIp) })
const OneFloatingIp = Type.Object({ floatingip: FloatingIp })

/** A floating IP below, and of which of ours it is; undefined: of none. */
export interface CloudFloatingIp extends FloatingIp {
  readonly mark: Mark | undefined
}

/** Where a floating IP is to lead there. */
export interface Target {
  readonly networkId: string
  readonly portId: string
}

/**
 * Floating IPs in the nested cloud with the addresses of ours. One that the project has there already is used, and given back
 * as it was; others are made, for which the cloud must let the project choose an address.
 */
export class CloudFloatingIps {
  readonly #cloud: Cloud
  readonly #hostId: string

  constructor(cloud: Cloud, hostId: string) {
    this.#cloud = cloud
    this.#hostId = hostId
  }

  async list(signal: AbortSignal): Promise<readonly CloudFloatingIp[]> {
    const { projectId } = await this.#cloud.access(signal)
    const asked = { query: { project_id: projectId }, signal }
    const { body } = await this.#cloud.ask(FloatingIps, 'network', 'GET', '/floatingips', asked)
    return body.floatingips.map((ip) => ({ ...ip, mark: markOf(ip.description ?? '') }))
  }

  /** True of one that this host made or took. */
  isOwn({ mark }: CloudFloatingIp): boolean {
    return mark?.hostId === this.#hostId
  }

  /** Afterwards one of ours is not there, or as it was before we took it. */
  async release({ id, mark }: CloudFloatingIp, signal: AbortSignal): Promise<void> {
    if (mark?.before === undefined) return this.#remove(id, signal)
    await this.#change(id, { port_id: null, description: mark.before }, signal)
  }

  /** Afterwards none of this host's is left that leads to no port: those of a guest that is gone. */
  async releaseLoose(signal: AbortSignal): Promise<void> {
    const all = await this.list(signal).catch((error: unknown) => {
      // A cloud without routers has none.
      if (isFailure(error, 'not-found', 'forbidden', 'unsupported')) return []
      throw error
    })
    for (const ip of all) if (this.isOwn(ip) && ip.port_id === null) await this.release(ip, signal)
  }

  /** Afterwards it leads nowhere: another may lead to its port. */
  async loosen({ id }: CloudFloatingIp, signal: AbortSignal): Promise<void> {
    await this.#change(id, { port_id: null }, signal)
  }

  /**
   * Afterwards the address leads to the port there. Throws `conflict` for an address that something else there has,
   * `forbidden` where the cloud lets the project choose none.
   */
  async ensure(
    wanted: HostFloatingIp,
    { networkId, portId }: Target,
    all: readonly CloudFloatingIp[],
    signal: AbortSignal,
  ): Promise<FloatingIp> {
    const { id, address, fixedAddress } = wanted
    const found = all.find(
      (ip) => ip.floating_ip_address === address && ip.floating_network_id === networkId,
    )
    if (found === undefined) return this.#make(wanted, { networkId, portId }, signal)
    const { mark, description } = found
    if (found.port_id !== null && found.port_id !== portId && mark?.id !== id)
      throw new Failure('conflict', `The address ${address} leads to another port there.`)
    const before = mark === undefined ? (description ?? '') : mark.before
    const isOurs = mark?.id === id && mark.hostId === this.#hostId
    const change = {
      ...(found.port_id === portId && found.fixed_ip_address === fixedAddress
        ? {}
        : { port_id: portId, fixed_ip_address: fixedAddress }),
      ...(isOurs ? {} : { description: marked({ id, hostId: this.#hostId, before }) }),
    }
    return Object.keys(change).length === 0 ? found : this.#change(found.id, change, signal)
  }

  async #make(
    { id, address, fixedAddress }: HostFloatingIp,
    { networkId, portId }: Target,
    signal: AbortSignal,
  ): Promise<FloatingIp> {
    const floatingip = {
      ...{ floating_network_id: networkId, floating_ip_address: address },
      ...{ port_id: portId, fixed_ip_address: fixedAddress },
      description: marked({ id, hostId: this.#hostId, before: undefined }),
    }
    const asked = { body: { floatingip }, signal }
    try {
      return (await this.#cloud.ask(OneFloatingIp, 'network', 'POST', '/floatingips', asked)).body
        .floatingip
    } catch (error) {
      if (!isFailure(error, 'forbidden')) throw error
      throw new Failure(
        'forbidden',
        `The nested cloud lets only its administrators choose the address of a floating IP: have them give its project the floating IP ${address}, or allow create_floatingip:floating_ip_address.`,
        { cause: error },
      )
    }
  }

  async #change(id: string, floatingip: object, signal: AbortSignal): Promise<FloatingIp> {
    const asked = { body: { floatingip }, signal }
    const path = `/floatingips/${id}`
    return (await this.#cloud.ask(OneFloatingIp, 'network', 'PUT', path, asked)).body.floatingip
  }

  async #remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#cloud
      .call('network', 'DELETE', `/floatingips/${id}`, { signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'not-found')) throw error
      })
  }
}
