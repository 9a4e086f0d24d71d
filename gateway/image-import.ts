import ipaddr from 'ipaddr.js'
import { type EnvReader, SettingsError } from '#common/env.ts'
import type { ImportRules } from './app/images/import/import-url.ts'

const PORT_MAX = 65_535
const PORTS = ['80', '443']
/** Four hours: a large image over a slow link. */
const TIMEOUT_S = 14_400
/** A slow link still has a hundred times as much. */
const BYTES_PER_S = 16_384

/** Reads GATEWAY_IMAGE_IMPORT_* with a reader of GATEWAY_*, which then reports the problems of them. */
export function readImportRules(read: EnvReader): ImportRules {
  return {
    hosts: read.list('IMAGE_IMPORT_HOSTS'),
    ports: read.list('IMAGE_IMPORT_PORTS', PORTS).map(Number),
    networks: read.list('IMAGE_IMPORT_NETWORKS'),
    timeoutMs: read.integer('IMAGE_IMPORT_TIMEOUT_S', TIMEOUT_S, 1) * 1_000,
    bytesPerSecondMin: read.integer('IMAGE_IMPORT_BYTES_PER_S_MIN', BYTES_PER_S, 0),
  }
}

/** Throws a SettingsError for an entry that is not a port or not a CIDR block. */
export function assertImportRules({ ports, networks }: ImportRules): void {
  const port = ports.find((each) => !Number.isInteger(each) || each < 1 || each > PORT_MAX)
  if (port !== undefined)
    throw new SettingsError(['GATEWAY_IMAGE_IMPORT_PORTS: a list of ports is needed'])
  const network = networks.find((each) => !ipaddr.isValidCIDR(each))
  if (network !== undefined)
    throw new SettingsError([`GATEWAY_IMAGE_IMPORT_NETWORKS: ${network} is no CIDR block`])
}
