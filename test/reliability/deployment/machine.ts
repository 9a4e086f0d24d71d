import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { installPackages } from '#deploy/packages/install-packages.ts'
import { findProgram } from '#deploy/process/find-program.ts'

/** Afterwards everything is installed that a run needs. */
export function prepareMachine(progress: (line: string) => void): Promise<void> {
  return installPackages(['base', 'faults'], progress)
}

/** The initial size; the kernel takes memory only for written pages. */
const SIZE = '3g'
const KIB = 1024
const MS_PER_S = 1_000
const FILL_TRIES_MAX = 50

/** A small file system in memory that can be made full, mounted in this process's own mount namespace alone. */
export class Disk {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  /** Mounts it over a folder that exists. */
  static mount(path: string): Disk {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=0700`, 'reliability', path])
    return new Disk(path)
  }

  /** Fills the file system: from now on programs can only overwrite existing blocks. */
  fill(): void {
    for (let tries = 1; ; tries += 1) {
      const { bsize, blocks, bfree } = statfsSync(this.#path)
      try {
        this.#resize(`${Math.ceil(((blocks - bfree) * bsize) / KIB)}k`)
        return
      } catch (error) {
        // The kernel refuses a size that a write has just gone beyond.
        if (tries === FILL_TRIES_MAX) throw error
      }
    }
  }

  empty(): void {
    this.#resize(SIZE)
  }

  #resize(size: string): void {
    execFileSync('mount', ['-o', `remount,size=${size}`, this.#path], { stdio: 'pipe' })
  }
}

/** The wall clock of MariaDB, by libfaketime: it looks at a file every second. Steady clocks go on as they are. */
export class DatabaseClock {
  readonly #file: string

  /** From now on a program of MariaDB's name comes first on the PATH, which starts the real one with this clock. */
  constructor(folder: string) {
    this.#file = join(folder, 'mariadb.clock')
    const programs = join(folder, 'programs')
    const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')
    if (library === undefined) throw new Error('libfaketime is not installed')
    const settings = [
      `LD_PRELOAD=${library}`,
      `FAKETIME_TIMESTAMP_FILE=${this.#file}`,
      'FAKETIME_CACHE_DURATION=1',
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
    ]
    const line = `exec env ${settings.join(' ')} ${findProgram('mariadbd')} "$@"`
    mkdirSync(programs)
    writeFileSync(join(programs, 'mariadbd'), `#!/bin/sh\n${line}\n`, { mode: 0o700 })
    process.env['PATH'] = [programs, process.env['PATH']].join(delimiter)
    this.move(0)
  }

  move(aheadMs: number): void {
    writeFileSync(this.#file, `${aheadMs < 0 ? '' : '+'}${aheadMs / MS_PER_S}\n`)
  }
}
