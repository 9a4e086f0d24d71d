import { Failure } from '#common/errors.ts'
import type { FlavorSpec } from '#drivers/driver.ts'
import { type NestedSettings, nestedSettings } from '#drivers/nested/settings.ts'
import type { LocalExternalNetwork, OtherOutside } from '#drivers/nested/verify/address-clashes.ts'
import type { Finding } from '#drivers/nested/verify/finding.ts'
import type { LocalNetwork } from '#drivers/nested/verify/mapped-subnets.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { callApi, type Session } from '../api/session.ts'
import type { CloudEntry } from './cloud-entry.ts'

interface FlavorAnswer {
  readonly id: string
  readonly name: string
  readonly vcpus: number
  readonly ram: number
  readonly disk: number
  readonly 'OS-FLV-EXT-DATA:ephemeral': number
  readonly swap: number | ''
  readonly extra_specs: Readonly<Record<string, string>>
}

/** Since then flavors are listed with their extra specs. */
const EXTRA_SPECS_SINCE = '2.61'

/**
 * The findings of a host with this entry's settings, for the cells and flavors of the endpoint. Throws `invalid`,
 * naming every invalid setting. `cellName`: the cell that is the cloud already; absent: none is.
 */
export async function verifyEntry(
  admin: Session,
  { login, settings }: CloudEntry,
  cellName?: string,
): Promise<readonly Finding[]> {
  const read = settingsOf({ ...settings, ...login })
  const get = <Answer>(path: string) => callApi<Answer>(admin, { method: 'GET', path })
  const { cells } = await get<{ cells: readonly Named[] }>('/federation/v1/cells')
  const { flavors } = await callApi<{ flavors: readonly FlavorAnswer[] }>(admin, {
    method: 'GET',
    // Those of single projects, too.
    path: '/compute/v2.1/flavors/detail?is_public=None',
    headers: { 'openstack-api-version': `compute ${EXTRA_SPECS_SINCE}` },
  })
  const ids = cells.map(({ id }) => id)
  const networks = await ourNetworks(admin, [...read.mappedNetworks.keys()])
  const others = cells.filter(({ name }) => name !== cellName)
  const outside = { networks: await ourExternals(admin), clouds: await outsidesOf(admin, others) }
  return verifyCloud(read, { cells: ids, flavors: flavors.map(flavorSpec), networks, outside })
}

function ourNetworks(admin: Session, ids: readonly string[]): Promise<readonly LocalNetwork[]> {
  const get = <Answer>(path: string) =>
    callApi<Answer>(admin, { method: 'GET', path: `/networking/v2.0${path}` })
  return Promise.all(
    ids.map(async (id) => {
      const { network } = await get<{ network: { name: string } }>(`/networks/${id}`)
      const { subnets } = await get<{ subnets: readonly { cidr: string }[] }>(
        `/subnets?network_id=${id}`,
      )
      return { id, name: network.name, cidrs: subnets.map(({ cidr }) => cidr) }
    }),
  )
}

interface Named {
  readonly id: string
  readonly name: string
}

interface NetworkAnswer extends Named {
  readonly 'provider:network_type': string
  readonly 'provider:physical_network': string | null
  readonly 'provider:segmentation_id': number | null
}

async function ourExternals(admin: Session): Promise<readonly LocalExternalNetwork[]> {
  const path = '/networking/v2.0/networks?router:external=true'
  type Answer = { readonly networks: readonly NetworkAnswer[] }
  const { networks } = await callApi<Answer>(admin, { method: 'GET', path })
  const found = await ourNetworks(
    admin,
    networks.map(({ id }) => id),
  )
  return found.map(({ name, cidrs }, at) => ({
    ...{ name, cidrs },
    physicalNetwork: placeOf(networks[at]!),
  }))
}

/** As hosts name it: with its VLAN, if it is one. */
function placeOf(network: NetworkAnswer): string | null {
  const { 'provider:physical_network': physical, 'provider:segmentation_id': vlan } = network
  return network['provider:network_type'] === 'vlan' ? `${physical}:${vlan}` : physical
}

interface HostAnswer {
  readonly name: string
  readonly cell_id: string
  readonly external_networks: readonly {
    readonly name: string
    readonly cidrs: readonly string[]
  }[]
}

interface HostPage {
  readonly hosts: readonly HostAnswer[]
  readonly next: string | null
}

/** The external networks of the clouds that are hosts of these cells. */
async function outsidesOf(
  admin: Session,
  cells: readonly Named[],
): Promise<readonly OtherOutside[]> {
  const nameOf = new Map(cells.map(({ id, name }) => [id, name]))
  const found: OtherOutside[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/federation/v1/hosts${cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`}`
    const page: HostPage = await callApi<HostPage>(admin, { method: 'GET', path })
    for (const { name, cell_id: cellId, external_networks: networks } of page.hosts) {
      const cell = nameOf.get(cellId)
      if (cell === undefined) continue
      found.push(...networks.map((network) => ({ ...network, host: `${name} of cell ${cell}` })))
    }
    cursor = page.next
  }
  return found
}

function settingsOf(texts: Readonly<Record<string, string>>): NestedSettings {
  try {
    return nestedSettings(texts)
  } catch (cause) {
    const problems = (cause as Error).message.replace(/^Configuration:\s*/, '')
    throw new Failure('invalid', `These settings, as --set gives them, are wrong:\n  ${problems}`)
  }
}

function flavorSpec(flavor: FlavorAnswer): FlavorSpec {
  return {
    id: flavor.id,
    name: flavor.name,
    vcpus: flavor.vcpus,
    memoryMb: flavor.ram,
    rootGb: flavor.disk,
    ephemeralGb: flavor['OS-FLV-EXT-DATA:ephemeral'],
    swapMb: Number(flavor.swap),
    extraSpecs: flavor.extra_specs,
  }
}
