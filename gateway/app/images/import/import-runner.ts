import { withinTask } from '#common/escaped.ts'
import type { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { dueTasks, type ImageTask, isLeft, returnTask, takeTask } from '../../../db/image-tasks.ts'
import type { Images } from '../images.ts'
import { failImport, IMPORT_LEASE_MS, runImport } from './run-import.ts'

const EVERY_MS = 10_000
/**
 * Simultaneous imports in one gateway, each of which may fill a disk and a network link: one of each project, so that
 * slow servers of one project delay no other. Staged images have places of their own, because they are at the gateway
 * already.
 */
const RUNNING_MAX = { 'web-download': 8, 'glance-direct': 2 } as const
/** What ended one process must not end the next one. */
const STOPPED = 'The import stopped the program that did it.'
const METHODS = ['glance-direct', 'web-download'] as const

/** Works on imports until disposed; unfinished imports are taken up by another gateway. */
export class ImportRunner implements AsyncDisposable {
  readonly #images: Images
  readonly #log: Logger
  readonly #isolated: Pick<IsolatedRunner, 'run'> | undefined
  readonly #stop = new AbortController()
  readonly #running = new Map<ImageTask, Promise<void>>()
  #ended: () => void = () => {}

  /** `isolated` tries imports during which a process ended; without it they are tried in this process. */
  constructor(images: Images, log: Logger, isolated?: Pick<IsolatedRunner, 'run'>) {
    this.#images = images
    this.#log = log
    this.#isolated = isolated
  }

  /** Begins due imports, as far as there is room. `ended` is called when there is room again. */
  reconciler(ended: () => void): Reconciler {
    this.#ended = ended
    return { name: 'image imports', everyMs: EVERY_MS, round: () => this.#begin() }
  }

  async #begin(): Promise<{ readonly begun: number; readonly running: number }> {
    let begun = 0
    for (const method of METHODS) begun += await this.#beginOf(method)
    return { begun, running: this.#running.size }
  }

  async #beginOf(method: (typeof METHODS)[number]): Promise<number> {
    const { db, clock } = this.#images
    const running = [...this.#running.keys()].filter((task) => task.request.method.name === method)
    const max = RUNNING_MAX[method] - running.length
    const now = new Date(clock.now())
    const except = running.map(({ owner }) => owner)
    const due = max === 0 ? [] : await dueTasks(db, { now, method, except, max })
    let begun = 0
    for (const found of due) {
      const leaseUntil = new Date(now.getTime() + IMPORT_LEASE_MS)
      const isSuspect = isLeft(found) && this.#isolated !== undefined
      // Only its trial shows whether the import ended its process: until then that was no try.
      const tries = isSuspect ? found.tries : found.tries + 1
      if (!(await takeTask(db, found, { now, leaseUntil, tries }))) continue
      begun += 1
      const task = { ...found, tries }
      const setAside = () => failImport(this.#images, task, STOPPED)
      this.#running.set(
        task,
        withinTask({ setAside }, () => this.#run(task, isSuspect)),
      )
    }
    return begun
  }

  async #run(task: ImageTask, isSuspect: boolean): Promise<void> {
    try {
      if (isSuspect && this.#isolated !== undefined) await this.#tryIsolated(task, this.#isolated)
      else await runImport(this.#images, task, this.#stop.signal)
    } catch (error) {
      this.#log.warn({ image: task.imageId, ...errorFields(error) }, 'image import interrupted')
      await this.#giveBack(task).catch(() => undefined)
    } finally {
      this.#running.delete(task)
      this.#ended()
    }
  }

  async #tryIsolated(task: ImageTask, isolated: Pick<IsolatedRunner, 'run'>): Promise<void> {
    const end = await isolated.run({ kind: 'import', id: task.id })
    if (end.kind === 'ended' && end.answer !== null)
      this.#log.warn({ image: task.imageId, error: end.answer }, 'image import interrupted')
    if (end.kind === 'guilty') {
      this.#log.error({ image: task.imageId, why: end.why }, 'image import given up')
      await failImport(this.#images, task, STOPPED)
    } else if (end.kind === 'left') {
      // It stays a suspect, and this try is still to be made.
      const now = new Date(this.#images.clock.now())
      await returnTask(this.#images.db, task.id, { isSuspect: true, isTried: true, now })
    }
  }

  /** Without waiting for the lease to end. */
  async #giveBack({ id }: ImageTask): Promise<void> {
    const { db, clock } = this.#images
    const isTried = !this.#stop.signal.aborted
    await returnTask(db, id, { isSuspect: false, isTried, now: new Date(clock.now()) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running.values())
  }
}
