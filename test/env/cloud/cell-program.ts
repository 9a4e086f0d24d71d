import { configFromEnv } from '#cells/config.ts'
import { startCell } from '#cells/context.ts'
import type { CellPlan, Foundation } from './foundation.ts'
import type { CloudOptions } from './options.ts'
import type { Program } from './program.ts'

/** The nth process of a cell; `imageUrl` of the gateways, with commas between them. */
export interface CellProcessPlan {
  readonly cell: CellPlan
  readonly nth: number
  readonly imageUrl: string
}

/** A process of a cell. */
export async function cellProgram(
  { services, bus }: Foundation,
  options: CloudOptions,
  { cell, nth, imageUrl }: CellProcessPlan,
): Promise<Program> {
  const name = `${cell.name}-process-${nth}`
  const isOutside = options.outside?.includes('cell') === true
  return {
    name,
    script: 'cells/main.ts',
    settings: {
      CELL_ID: cell.id,
      CELL_NAME: cell.name,
      CELL_ZONE: cell.name,
      CELL_PROCESS: name,
      CELL_DATABASE_URL: cell.databaseUrl,
      CELL_SECRET_KEY: cell.secretKey,
      CELL_NATS_URL: services.natsUrl,
      CELL_NATS_CREDENTIALS_FILE: await bus.cellCredentialsFile(cell.id),
      CELL_IMAGE_URL: imageUrl,
      CELL_STOP_GRACE_MS: '100',
      CELL_LOG_LEVEL: isOutside ? 'debug' : 'error',
      ...options.cell,
    },
    wires: ['CELL_DATABASE_URL', 'CELL_NATS_URL'],
    inside: (env) => startCell(configFromEnv(env)),
    serves: 'cell serves',
  }
}
