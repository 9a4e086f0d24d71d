import { settingsFor } from '../deployment/program-settings.ts'
import type { DeploymentState, ExposedAddress, GatewayRecord } from '../deployment/state.ts'
import { type Program, passedOn } from './program.ts'

/** The address of HTTPS, and the server's certificate. */
export interface TlsFiles extends ExposedAddress {
  readonly certificateFile: string
  readonly keyFile: string
}

export interface GatewayFiles {
  readonly tls: TlsFiles | undefined
  readonly databaseUrlFile: string
  readonly natsUrl: string
  readonly natsCredentialsFile: string
  readonly natsAccountSeedFile: string
  /** Undefined: no cell joins by the bus. */
  readonly natsLeafUrl: string | undefined
  readonly natsOperatorSeedFile: string
  readonly natsSystemCredentialsFile: string
  readonly natsSystemSeedFile: string
  readonly secretKeyFile: string
  readonly imageDirectory: string
  /** With which monitoring reads its metrics, unless an operator chose another. */
  readonly metricsTokenFile: string
  readonly metricsTargets: string
  /** Logs that it keeps within a size; undefined: another program does. */
  readonly serviceLogs: readonly string[] | undefined
}

export function gatewayProgram(
  state: DeploymentState,
  gateway: GatewayRecord,
  files: GatewayFiles,
): Program {
  const isTokenChosen = state.settings?.['GATEWAY_METRICS_TOKEN'] !== undefined
  const token = isTokenChosen ? {} : { GATEWAY_METRICS_TOKEN_FILE: files.metricsTokenFile }
  return {
    name: gateway.name,
    script: 'gateway/main.ts',
    settings: settingsFor(
      'GATEWAY_',
      { ...token, ...state.settings },
      {
        GATEWAY_PROCESS: gateway.name,
        GATEWAY_PORT: String(gateway.port),
        GATEWAY_REGION: state.region,
        GATEWAY_DATABASE_URL_FILE: files.databaseUrlFile,
        GATEWAY_NATS_URL: files.natsUrl,
        GATEWAY_NATS_CREDENTIALS_FILE: files.natsCredentialsFile,
        GATEWAY_NATS_ACCOUNT_SEED_FILE: files.natsAccountSeedFile,
        ...(files.natsLeafUrl !== undefined && { GATEWAY_NATS_LEAF_URL: files.natsLeafUrl }),
        GATEWAY_NATS_OPERATOR_SEED_FILE: files.natsOperatorSeedFile,
        GATEWAY_NATS_SYSTEM_CREDENTIALS_FILE: files.natsSystemCredentialsFile,
        GATEWAY_NATS_SYSTEM_SEED_FILE: files.natsSystemSeedFile,
        GATEWAY_SECRET_KEY_FILE: files.secretKeyFile,
        GATEWAY_IMAGE_DIRECTORY: files.imageDirectory,
        GATEWAY_METRICS_TARGETS: files.metricsTargets,
        ...(files.tls === undefined ? {} : tlsSettings(files.tls)),
        ...(files.serviceLogs && { GATEWAY_SERVICE_LOGS: files.serviceLogs.join(',') }),
        ...passedOn(process.env, 'GATEWAY_RETENTION_'),
      },
    ),
  }
}

function tlsSettings({ address, port, certificateFile, keyFile }: TlsFiles) {
  return {
    GATEWAY_JOIN_URL: `https://${address}:${port}`,
    GATEWAY_TLS_LISTEN_HOST: address,
    GATEWAY_TLS_PORT: String(port),
    GATEWAY_TLS_CERTIFICATE_FILE: certificateFile,
    GATEWAY_TLS_KEY_FILE: keyFile,
  }
}
