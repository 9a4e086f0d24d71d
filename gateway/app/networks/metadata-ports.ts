import type { Clock } from '#common/clock.ts'
import type { Transactional, Tx } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { METADATA_PORT_OWNER, metadataPort } from '#openapi/wire/metadata-port.ts'
import type { Subnet } from '../../db/network.ts'
import { releaseAddress } from '../../db/port-addresses.ts'
import { findPorts, holdPort } from '../../db/ports.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import { allocateRequested, placePort } from './place-port.ts'
import { removePort } from './release-port.ts'
import { NO_PROJECT, servicePort } from './service-ports.ts'

interface Deps {
  readonly db: Transactional
  readonly clock: Clock
  readonly log: Logger
}

/** Gives networks their ports for the metadata service. */
export class MetadataPorts {
  readonly #deps: Deps
  /** Subnets without a free address, which were reported. */
  readonly #full = new Set<string>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Afterwards each of these networks has its port for the metadata service, with an address of every IPv4 subnet with
   * DHCP that has one left. A network that is deleted meanwhile is skipped.
   */
  async ensure(networkIds: readonly string[]): Promise<void> {
    const { db } = this.#deps
    const found = await findPorts(
      db,
      networkIds.map((id) => metadataPort(id).id),
    )
    const ports = new Map(found.map((port) => [port.networkId, port]))
    const subnets = Map.groupBy(
      await subnetsOfNetworks(db, networkIds),
      ({ networkId }) => networkId,
    )
    for (const networkId of networkIds) {
      const port = ports.get(networkId)
      const served = (subnets.get(networkId) ?? []).filter(isServed)
      if (port === undefined && served.length > 0)
        await this.#skipGone(() => this.#place(networkId))
      for (const subnet of served)
        if (!port?.fixedIps.some(({ subnetId }) => subnetId === subnet.id))
          await this.#skipGone(() => this.#addAddress(subnet))
    }
  }

  async #place(networkId: string): Promise<void> {
    const { db, clock } = this.#deps
    const device = { deviceId: `ovnmeta-${networkId}`, deviceOwner: METADATA_PORT_OWNER }
    const blank = servicePort({ now: new Date(clock.now()), projectId: NO_PROJECT, ...device })
    const port = { ...blank, ...metadataPort(networkId), networkId, subnets: [], requests: [] }
    await db.transaction((tx) => placePort(tx, port))
  }

  async #addAddress(subnet: Subnet): Promise<void> {
    const { db, log } = this.#deps
    const { networkId } = subnet
    const port = { networkId, ...metadataPort(networkId) }
    try {
      await db.transaction(async (tx) => {
        if (await holdPort(tx, port.id))
          await allocateRequested(tx, port, [{ subnet, address: null }])
      })
      this.#full.delete(subnet.id)
    } catch (error) {
      if (!isFailure(error, 'conflict')) throw error
      if (!this.#full.has(subnet.id))
        log.warn(
          { subnet_id: subnet.id, network_id: networkId },
          'a subnet has no free address for the metadata service, which its servers do not reach',
        )
      this.#full.add(subnet.id)
    }
  }

  async #skipGone(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isFailure(error, 'not-found')) throw error
    }
  }
}

/** Servers learn their route to the service from DHCP. */
function isServed({ ipVersion, hasDhcp }: Subnet): boolean {
  return ipVersion === 4 && hasDhcp
}

/** Afterwards the network has no port for the metadata service: that of a network in use is created again. */
export async function removeMetadataPort(tx: Tx, networkId: string): Promise<void> {
  const [port] = await findPorts(tx, [metadataPort(networkId).id])
  if (port !== undefined) await removePort(tx, port)
}

/** Afterwards the subnet has no address of the metadata service. */
export async function releaseMetadataAddress(tx: Tx, { id, networkId }: Subnet): Promise<void> {
  const [port] = await findPorts(tx, [metadataPort(networkId).id])
  for (const { subnetId, address } of port?.fixedIps ?? [])
    if (subnetId === id) await releaseAddress(tx, { subnetId, address, portId: port!.id })
}
