import { readFileSync, statSync } from 'node:fs'
import { type Faults, parseFaults } from './faults.ts'

/** A script of faults that another process may rewrite at any time. */
export class FaultsFile {
  readonly #path: string
  #seen = ''

  constructor(path: string) {
    this.#path = path
  }

  /** Afterwards `faults` are those of the file, if it changed since the last look; an absent file is no faults. */
  refresh(faults: Faults): void {
    const now = statSync(this.#path, { throwIfNoEntry: false })
    const version = now === undefined ? '' : `${now.ino} ${now.mtimeMs} ${now.size}`
    if (version === this.#seen) return
    this.#seen = version
    faults.set(now === undefined ? [] : parseFaults(readFileSync(this.#path, 'utf8')))
  }
}
