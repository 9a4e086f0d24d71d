import ipaddr from 'ipaddr.js'
import { Type } from 'typebox'
import { errorChain, Failure, isFailure } from '#common/errors.ts'
import type { OutsideNetwork } from '#openapi/wire/routing.ts'
import type { ExternalNetwork } from '../../routing.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'

const Networks = Type.Object({
  networks: Type.Array(Type.Object({ id: Id, name: Type.String() })),
})
const Subnets = Type.Object({ subnets: Type.Array(Type.Object({ cidr: Type.String() })) })

/** An external network of the nested cloud, by the name that ours has as a physical network. */
export interface Outside extends ExternalNetwork {
  readonly id: string
  /** Its own name there. */
  readonly called: string
}

/** How old what was read last may be; reports read it often. */
const KEPT_MS = 30_000

export const NO_ROUTERS =
  'The nested cloud has no routers: its Networking API has no extension router.'
const NO_OUTSIDE =
  'The nested cloud has no external network that its project sees. Have its operator create or share one.'

/** The ways out of the nested cloud. */
export class Outsides {
  readonly #cloud: Cloud
  readonly #named: ReadonlyMap<string, string>
  #known: readonly Outside[] = []
  #seen: { readonly at: number; readonly found: Promise<readonly Outside[]> } | undefined

  /** `named`: by names of physical networks here, external networks there, by id or name; none: all, by their own names. */
  constructor(cloud: Cloud, named: ReadonlyMap<string, string>) {
    this.#cloud = cloud
    this.#named = named
  }

  /** As an inventory has them: while the cloud is silent, as it had them last. Another failure is the reason why there are none. */
  async report(
    signal: AbortSignal,
  ): Promise<{ readonly externalNetworks: ExternalNetwork[]; readonly routingProblem?: string }> {
    try {
      this.#known = await this.list(signal)
      return { externalNetworks: namesOf(this.#known) }
    } catch (error) {
      if (!isFailure(error)) throw error
      if (error.kind === 'unavailable') return { externalNetworks: namesOf(this.#known) }
      return { externalNetworks: [], routingProblem: errorChain(error) }
    }
  }

  /** Throws `unsupported` for a cloud without an external network, `invalid` for a name in the settings that no such network has. */
  async list(signal: AbortSignal): Promise<readonly Outside[]> {
    const now = performance.now()
    if (this.#seen === undefined || now - this.#seen.at > KEPT_MS)
      this.#seen = { at: now, found: this.#read(signal) }
    const { found } = this.#seen
    try {
      return await found
    } catch (error) {
      if (this.#seen?.found === found) this.#seen = undefined
      throw error
    }
  }

  /** The id of the network below that ours is. Throws `invalid` if none or more than one could be, and as `list`. */
  async idOf({ physicalNetwork }: OutsideNetwork, signal: AbortSignal): Promise<string> {
    const all = await this.list(signal)
    const fits = all.filter(({ name }) => physicalNetwork === null || name === physicalNetwork)
    const [only] = fits
    if (only !== undefined && fits.length === 1) return only.id
    const known = all.map(({ name }) => name).join(', ')
    throw new Failure(
      'invalid',
      physicalNetwork === null
        ? `The nested cloud has several external networks, and the one here names no physical network: create it with one of ${known}.`
        : `The nested cloud has no external network for physical network ${physicalNetwork}. It has: ${known}. Name another in the setting external_networks of its host.`,
    )
  }

  async #read(signal: AbortSignal): Promise<readonly Outside[]> {
    await this.#cloud
      .call('network', 'GET', '/extensions/router', { signal })
      .catch((error: unknown) => {
        throw isFailure(error, 'not-found') ? new Failure('unsupported', NO_ROUTERS) : error
      })
    const asked = { query: { 'router:external': 'true' }, signal }
    const { networks } = (await this.#cloud.ask(Networks, 'network', 'GET', '/networks', asked))
      .body
    if (networks.length === 0) throw new Failure('unsupported', NO_OUTSIDE)
    const outsides: Outside[] = []
    for (const [name, { id, name: called }] of this.#chosen(networks)) {
      const query = { network_id: id }
      const { body } = await this.#cloud.ask(Subnets, 'network', 'GET', '/subnets', {
        query,
        signal,
      })
      const cidrs = body.subnets.map(({ cidr }) => cidr).filter((cidr) => ipaddr.isValidCIDR(cidr))
      outsides.push({ name, id, called, cidrs })
    }
    return outsides
  }

  #chosen<N extends { readonly id: string; readonly name: string }>(
    networks: readonly N[],
  ): readonly (readonly [string, N])[] {
    if (this.#named.size === 0)
      return networks
        .filter(({ name }) => networks.filter((other) => other.name === name).length === 1)
        .map((network) => [network.name, network])
    return [...this.#named].map(([ours, theirs]) => {
      const network = networks.find(({ id, name }) => id === theirs || name === theirs)
      if (network !== undefined) return [ours, network] as const
      const all = networks.map(({ name }) => name).join(', ')
      throw new Failure(
        'invalid',
        `external_networks: the nested cloud has no external network ${theirs}. It has: ${all}.`,
      )
    })
  }
}

function namesOf(found: readonly Outside[]): ExternalNetwork[] {
  return found.map(({ name, cidrs }) => ({ name, cidrs }))
}
