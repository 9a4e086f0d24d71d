import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Holder, holdsNamespace } from './namespace.ts'

/** The process that holds the namespaces of the programs in `directory`; undefined if there is none. */
export async function runningHolder(directory: string): Promise<Holder | undefined> {
  try {
    const holder = JSON.parse(await readFile(holderFile(directory), 'utf8')) as Holder
    return (await holdsNamespace(holder)) ? holder : undefined
  } catch {
    return undefined // Never started, or stopped.
  }
}

/** Afterwards `runningHolder` finds it, in whichever process. */
export async function writeHolder(directory: string, holder: Holder): Promise<void> {
  const partial = `${holderFile(directory)}.part`
  await writeFile(partial, JSON.stringify(holder))
  await rename(partial, holderFile(directory))
}

export async function removeHolder(directory: string): Promise<void> {
  await rm(holderFile(directory), { force: true })
}

function holderFile(directory: string): string {
  return join(directory, 'holder.json')
}
