import { errorFields, type Logger } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { dueTasks, type ImageTask, renewTask, takeTask } from '../../../db/image-tasks.ts'
import type { Images } from '../images.ts'
import { IMPORT_LEASE_MS, runImport } from './run-import.ts'

const EVERY_MS = 10_000
/** Imports at once in one gateway: each is a disk and a network link at full speed. */
const RUNNING_MAX = 4

/** Works on imports until disposed; those it leaves are for whoever finds them next. */
export class ImportRunner implements AsyncDisposable {
  readonly #images: Images
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  #ended: () => void = () => {}

  constructor(images: Images, log: Logger) {
    this.#images = images
    this.#log = log
  }

  /** Begins what is due, as far as there is room. `ended` is called when there is room again. */
  reconciler(ended: () => void): Reconciler {
    this.#ended = ended
    return { name: 'image imports', everyMs: EVERY_MS, round: () => this.#begin() }
  }

  async #begin(): Promise<{ readonly begun: number; readonly running: number }> {
    const { db, clock } = this.#images
    const room = RUNNING_MAX - this.#running.size
    const now = clock.now()
    const due = room === 0 ? [] : await dueTasks(db, new Date(now), room)
    let begun = 0
    for (const task of due) {
      const lease = new Date(now + IMPORT_LEASE_MS)
      if (!(await takeTask(db, task.id, new Date(now), lease))) continue
      begun += 1
      this.#running.set(task.id, this.#run({ ...task, tries: task.tries + 1 }))
    }
    return { begun, running: this.#running.size }
  }

  async #run(task: ImageTask): Promise<void> {
    try {
      await runImport(this.#images, task, this.#stop.signal)
    } catch (error) {
      this.#log.warn({ image: task.imageId, ...errorFields(error) }, 'image import interrupted')
      await this.#giveBack(task).catch(() => undefined)
    } finally {
      this.#running.delete(task.id)
      this.#ended()
    }
  }

  /** Without waiting for the lease to end. */
  async #giveBack({ id }: ImageTask): Promise<void> {
    await renewTask(this.#images.db, id, new Date(this.#images.clock.now()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running.values())
  }
}
