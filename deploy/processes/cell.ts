import type { UplinkSettings } from '#cells/uplink.ts'
import { type ProgramSettings, settingsFor } from '../deployment/program-settings.ts'
import type { CellRecord } from '../deployment/state.ts'
import { type Program, passedOn } from './program.ts'

export interface CellFiles {
  readonly databaseUrlFile: string
  readonly secretKeyFile: string
  readonly natsUrl: string
  readonly natsCredentialsFile: string
  readonly natsAccountSeedFile: string
  /** Of the gateways' image services, with commas between them. */
  readonly imageUrls: string
  /** Undefined where the cell is on the deployment's own bus. */
  readonly uplink: UplinkSettings | undefined
  /** The databases of the cell's OVN; undefined: its hosts have bridges of their own. */
  readonly ovn: { readonly northbound: string; readonly southbound: string } | undefined
  /** PEM of further trusted certificates; undefined: only those of the machine. */
  readonly caFile: string | undefined
  readonly metricsTargets: string
  /** Logs that it keeps within a size; undefined: another program does. */
  readonly serviceLogs: readonly string[] | undefined
}

export function cellProgram(
  cell: CellRecord,
  files: CellFiles,
  chosen: ProgramSettings | undefined,
): Program {
  const { uplink, ovn, caFile } = files
  const name = `cell-${cell.name}`
  // Operators may name more gateways than this machine knows.
  const wanted = { CELL_IMAGE_URL: files.imageUrls, CELL_METRICS_PORT: '0', ...chosen }
  return {
    name,
    script: 'cells/main.ts',
    settings: settingsFor('CELL_', wanted, {
      CELL_ID: cell.id,
      CELL_NAME: cell.name,
      CELL_PROCESS: name,
      CELL_DATABASE_URL_FILE: files.databaseUrlFile,
      CELL_SECRET_KEY_FILE: files.secretKeyFile,
      CELL_NATS_URL: files.natsUrl,
      CELL_METRICS_TARGETS: files.metricsTargets,
      CELL_NATS_CREDENTIALS_FILE: files.natsCredentialsFile,
      CELL_NATS_ACCOUNT_SEED_FILE: files.natsAccountSeedFile,
      ...(uplink && uplinkSettings(uplink)),
      ...(ovn && { CELL_OVN_NORTHBOUND: ovn.northbound, CELL_OVN_SOUTHBOUND: ovn.southbound }),
      ...(files.serviceLogs && { CELL_SERVICE_LOGS: files.serviceLogs.join(',') }),
      ...(caFile !== undefined && { NODE_EXTRA_CA_CERTS: caFile }),
      ...passedOn(process.env, 'CELL_RETENTION_'),
      ...passedOn(process.env, 'CELL_FENCE_'),
    }),
  }
}

function uplinkSettings({ url, port, credential }: UplinkSettings) {
  return {
    CELL_UPLINK_URL: url,
    CELL_UPLINK_PORT: String(port),
    ...(credential && {
      CELL_UPLINK_CREDENTIALS_FILE: credential.file,
      CELL_UPLINK_GATEWAY_URL: credential.gatewayUrl,
    }),
  }
}
