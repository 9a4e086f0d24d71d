import type { DriverName } from '#drivers/driver.ts'
import { type ProgramSettings, settingsFor } from '../deployment/program-settings.ts'
import type { CellRecord, HostRecord } from '../deployment/state.ts'
import type { Program } from './program.ts'

export interface ComputeFiles {
  readonly natsUrl: string
  readonly natsCredentialsFile: string
  /** Absent where its credential is renewed at `gatewayUrl`. */
  readonly natsAccountSeedFile?: string
  readonly gatewayUrl?: string
  /** The image service, without a trailing slash. */
  readonly imageUrl: string
  readonly stateDirectory: string
  /** PEM of further trusted certificates; undefined: only those of the machine. */
  readonly caFile: string | undefined
  readonly metricsTargets: string
  readonly driver: DriverName
  /** Of the driver's own, by lower-case name. */
  readonly driverSettings: Readonly<Record<string, string>>
}

export function computeProgram(
  cell: Pick<CellRecord, 'id' | 'name'>,
  host: HostRecord,
  files: ComputeFiles,
  chosen: ProgramSettings | undefined,
): Program {
  // Operators may name more gateways than this machine knows.
  const wanted = { COMPUTE_IMAGE_URL: files.imageUrl, COMPUTE_METRICS_PORT: '0', ...chosen }
  return {
    name: `compute-${host.name}`,
    script: 'cells/compute/main.ts',
    settings: settingsFor('COMPUTE_', wanted, {
      COMPUTE_CELL_ID: cell.id,
      COMPUTE_HOST_ID: host.id,
      COMPUTE_HOST_NAME: host.name,
      COMPUTE_ZONE: cell.name,
      COMPUTE_NATS_URL: files.natsUrl,
      COMPUTE_METRICS_TARGETS: files.metricsTargets,
      COMPUTE_NATS_CREDENTIALS_FILE: files.natsCredentialsFile,
      ...(files.natsAccountSeedFile && {
        COMPUTE_NATS_ACCOUNT_SEED_FILE: files.natsAccountSeedFile,
      }),
      ...(files.gatewayUrl && { COMPUTE_GATEWAY_URL: files.gatewayUrl }),
      ...(files.caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: files.caFile }),
      COMPUTE_STATE_DIRECTORY: files.stateDirectory,
      COMPUTE_DRIVER: files.driver,
      ...Object.fromEntries(
        Object.entries(files.driverSettings).map(([name, value]) => [
          `COMPUTE_DRIVER_${name.toUpperCase()}`,
          value,
        ]),
      ),
    }),
  }
}
