import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Target {
  /** Where Prometheus reads, as host:port. */
  readonly address: string
  readonly labels: Readonly<Record<string, string>> & {
    readonly program: string
    readonly process: string
  }
}

/**
 * Afterwards the folder has a file for Prometheus' `file_sd_configs` that names the program. It stays when the program ends:
 * monitoring is to notice that.
 */
export function writeTargetFile(directory: string, { address, labels }: Target): void {
  mkdirSync(directory, { recursive: true })
  const file = targetFile(directory, labels)
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, `${JSON.stringify([{ targets: [address], labels }])}\n`)
  renameSync(draft, file)
}

/** The file of a program in the folder. */
export function targetFile(
  directory: string,
  { program, process }: Pick<Target['labels'], 'program' | 'process'>,
): string {
  return join(directory, `${program}-${encodeURIComponent(process)}.json`)
}
