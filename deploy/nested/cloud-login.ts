import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sealLogin } from '#drivers/cloud-login.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { CellRecord } from '../deployment/state.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'

const KEY_BYTES = 32

/** Afterwards the cell's host logs in with this, the next time it does: one that runs is not disturbed. */
export async function writeLogin(
  layout: Layout,
  cellName: string,
  login: Readonly<Record<string, string>>,
): Promise<void> {
  const keyFile = await secretFile(layout, keyName(cellName), () =>
    randomBytes(KEY_BYTES).toString('hex'),
  )
  const sealed = sealLogin(login, readFileSync(keyFile, 'utf8'))
  writeFileAtomically(loginFile(layout, cellName), `${sealed}\n`)
}

/** The settings of the cloud for the driver of a cell's host; undefined for a cell that has none. */
export function cloudSettings(
  layout: Layout,
  { name, cloud }: CellRecord,
): Readonly<Record<string, string>> | undefined {
  if (cloud === undefined) return undefined
  return {
    ...cloud.settings,
    login_file: loginFile(layout, name),
    login_key_file: join(layout.secrets, keyName(name)),
  }
}

/** Where the login of a cell's cloud is kept, and what it is sealed with. */
export function loginFiles(layout: Layout, cellName: string): readonly string[] {
  return [loginFile(layout, cellName), join(layout.secrets, keyName(cellName))]
}

function keyName(cellName: string): string {
  return `cloud-${cellName}.key`
}

function loginFile(layout: Layout, cellName: string): string {
  return join(layout.secrets, `cloud-${cellName}.login`)
}
