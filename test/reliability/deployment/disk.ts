import { execFileSync } from 'node:child_process'
import { statfsSync } from 'node:fs'

/** Room at first; the kernel takes memory only for what is written. */
const SIZE = '3g'
const KIB = 1024

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

  /** From now on nothing more can be written than what is written over. */
  fill(): void {
    const { bsize, blocks, bfree } = statfsSync(this.#path)
    this.#resize(`${Math.ceil(((blocks - bfree) * bsize) / KIB)}k`)
  }

  empty(): void {
    this.#resize(SIZE)
  }

  #resize(size: string): void {
    execFileSync('mount', ['-o', `remount,size=${size}`, this.#path])
  }
}
