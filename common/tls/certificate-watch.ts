import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { RunningReconciler } from '../reconciler.ts'
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts'

/** How late a renewed certificate is served. */
const EVERY_MS = 10_000

/** The certificate of a server, as its files have it now. */
export class CertificateWatch implements AsyncDisposable {
  readonly #files: CertificateFiles
  readonly #running: RunningReconciler
  #current: Certificate
  #use: (certificate: Certificate) => void = () => {}

  /** Throws a plain Error when there is no usable certificate at the start. */
  constructor(files: CertificateFiles, clock: Clock, log: Logger) {
    this.#files = files
    this.#current = readCertificate(files)
    const round = async () => this.#round()
    const reconciler = { name: 'certificate', everyMs: EVERY_MS, round }
    this.#running = new RunningReconciler(reconciler, clock, log)
  }

  get current(): Certificate {
    return this.#current
  }

  /** Calls `use` with every certificate that comes after the current one. */
  onRenewal(use: (certificate: Certificate) => void): void {
    this.#use = use
  }

  /** Makes it look at the files now. */
  wake(): void {
    this.#running.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]()
  }

  /** One that cannot be used is reported, and the former one served on. */
  #round(): { readonly renewed: number } {
    const found = readCertificate(this.#files)
    if (found.cert === this.#current.cert && found.key === this.#current.key) return { renewed: 0 }
    this.#current = found
    this.#use(found)
    return { renewed: 1 }
  }
}
