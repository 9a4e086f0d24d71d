import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'

/** Where the token is in the configuration that is copied. */
const TOKEN_FILE = 'metrics.token'
const TOKEN_BYTES = 24

/** The path of the token with which monitoring reads the metrics of gateways; made once. */
export function metricsTokenFile(layout: Layout): Promise<string> {
  return secretFile(layout, TOKEN_FILE, () => randomBytes(TOKEN_BYTES).toString('base64url'))
}

/**
 * Afterwards the deployment's folder has a configuration of Prometheus and its rules, for all programs here. The programs
 * name themselves in the folder `targets`.
 */
export async function writeMonitoring(layout: Layout): Promise<void> {
  const token = await metricsTokenFile(layout)
  mkdirSync(layout.targets, { recursive: true, mode: 0o700 })
  const text = readFileSync(join(import.meta.dirname, 'prometheus.yaml'), 'utf8')
  const own = text.replaceAll(`credentials_file: ${TOKEN_FILE}`, `credentials_file: ${token}`)
  writeFileAtomically(join(layout.monitoring, 'prometheus.yaml'), own)
  copyFileSync(join(import.meta.dirname, 'rules.yaml'), join(layout.monitoring, 'rules.yaml'))
}
