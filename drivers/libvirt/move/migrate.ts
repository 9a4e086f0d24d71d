import { RpcConnection } from '../rpc/connection.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import { greet } from '../session.ts'
import type { LibvirtAddress } from '../uri.ts'

/** Guests with much memory that changes fast, over a slow line: an operator ends it before. */
const TIMEOUT_MS = 24 * 3_600_000

/** virDomainMigrateFlags. */
const LIVE = 1
const PEER2PEER = 2
const PERSIST_DEST = 8
const NON_SHARED_DISK = 64
const UNSAFE = 1 << 9
const AUTO_CONVERGE = 1 << 13
const TLS = 1 << 16

export interface Migration {
  /** How the domain's daemon reaches the other one. */
  readonly uri: string
  /** The domain as the other host has it. */
  readonly xml: string
  /** Where the guest's memory and disks go, as libvirt's URIs; without them the daemons settle it. */
  readonly memoryUri?: string
  readonly disksUri?: string
  readonly isEncrypted: boolean
  /** The names of the disks whose content goes over. */
  readonly ownDisks: readonly string[]
  /** Other disks are in stores that both daemons reach, which is known of each. */
  readonly hasVolumes: boolean
}

/**
 * Afterwards the guest, with its disks' content, is on the other daemon. It takes a connection of its own: the call
 * is answered at the end of the migration. Throws `conflict` when the job was aborted, `unavailable` when the outcome
 * is unknown.
 */
export async function migrate(
  address: LibvirtAddress,
  domain: DomainRef,
  { uri, xml, memoryUri, disksUri, isEncrypted, ownDisks, hasVolumes }: Migration,
): Promise<void> {
  using connection = await RpcConnection.open(address.dial, () => {}, {
    callTimeoutMs: TIMEOUT_MS,
  })
  await greet(connection, address.driverUri)
  const parameters = {
    destination_xml: xml,
    persistent_xml: xml,
    ...(memoryUri !== undefined && { migrate_uri: memoryUri }),
    ...(ownDisks.length > 0 && disksUri !== undefined && { disks_uri: disksUri }),
    migrate_disks: ownDisks,
  }
  const content = ownDisks.length > 0 ? NON_SHARED_DISK : 0
  // The daemon knows some file systems as shared, and refuses all others, though another host may mount them.
  const shared = hasVolumes ? UNSAFE : 0
  const always = LIVE | PEER2PEER | PERSIST_DEST | AUTO_CONVERGE | content | shared
  const args = new XdrWriter().domain(domain).optionalText(uri).textParameters(parameters)
  // No cookie: that is for callers that drive the phases themselves.
  args.uint(0).uint(isEncrypted ? always | TLS : always)
  await connection.call(PROCEDURES.domainMigratePerform3Params, args.bytes())
}
