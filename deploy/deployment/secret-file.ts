import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import type { Layout } from './layout.ts'

/** The path of a secret that is made once and kept (0600). */
export async function secretFile(
  layout: Layout,
  name: string,
  create: () => string | Promise<string>,
): Promise<string> {
  const path = join(layout.secrets, name)
  if (!existsSync(path)) writeFileAtomically(path, await create())
  return path
}
