import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#deploy/paths.ts'
import { Checkout } from '#test/env/checkout.ts'
import type { PageScript, Step } from './page-script.ts'

/** Machines that are emulated take minutes. */
const COMMAND_LIMIT_MS = 1_200_000
/** In a regular expression. */
const SPECIAL = /[.*+?^${}()|[\]\\]/g

/** A machine with a folder that looks like a checkout: `./weir`, and `.weir/` of a deployment of its own. */
export class Machine implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-page-'))
  readonly checkout = new Checkout()
  readonly #cloud: string

  /** `cloud`: the command that selects the cloud, typed before each OpenStack client. */
  constructor(cloud = 'eval "$(./weir env)"') {
    this.#cloud = cloud
    for (const name of ['weir', 'gateway', 'node_modules'])
      symlinkSync(join(projectRoot, name), join(this.folder, name))
    symlinkSync(this.checkout.home, join(this.folder, '.weir'))
  }

  /** Types a line into a shell, and interrupts it once it has written `until`. */
  async type(
    line: string,
    until?: RegExp,
  ): Promise<{ readonly code: unknown; readonly said: string }> {
    const isClient = line.startsWith('openstack ')
    const child = spawn('/bin/bash', ['-c', isClient ? `${this.#cloud}; ${line}` : line], {
      cwd: this.folder,
      env: {
        PATH: process.env['PATH'],
        HOME: this.folder,
        WEIR_HOME: this.checkout.home,
        PYTHONDONTWRITEBYTECODE: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let said = ''
    let isEnough = false
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (until === undefined || isEnough || !until.test(said)) return
        isEnough = true
        process.kill(-child.pid!, 'SIGINT')
      })
    const tooLong = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), COMMAND_LIMIT_MS)
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject).once('close', resolve)
    })
    clearTimeout(tooLong)
    return { code: isEnough ? 0 : code, said }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.checkout[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Types pages at machines, in order, with a value for each placeholder. */
export class Reader {
  readonly #machines: Readonly<Record<string, Machine>>
  readonly #values: Map<string, string>

  /** Without `at` a step is typed at the machine that is named first. */
  constructor(
    machines: Readonly<Record<string, Machine>>,
    values: Readonly<Record<string, string>>,
  ) {
    this.#machines = machines
    this.#values = new Map(Object.entries(values))
  }

  /** From now on `placeholder` stands for `value`. */
  learn(placeholder: string, value: string): void {
    this.#values.set(placeholder, value)
  }

  /** Types every command of the page. Throws at the first that does not do what the page lets expect. */
  async type({ page, steps }: PageScript): Promise<void> {
    for (const { line, ...step } of steps) {
      const isThere = [step.at, step.needs].every((name) => !name || name in this.#machines)
      if (step.notTyped !== undefined || !isThere) continue
      await step.before?.()
      const problem = await this.#problemWith(line, step)
      if (problem !== undefined) throw new Error(`${page}: ${line}\n${problem}`)
      await step.after?.()
    }
  }

  async #problemWith(line: string, step: Step): Promise<string | undefined> {
    const [first = ''] = Object.keys(this.#machines)
    const typed = this.filled(step.typed ?? line)
    const { code, said } = await this.#machines[step.at ?? first]!.type(typed, step.until)
    const told = `typed: ${typed}\nended with ${String(code)}:\n${said}`
    if (!(step.codes ?? [0]).includes(code as number)) return told
    if (step.shows !== undefined && !step.shows.test(said)) return `${step.shows} not in\n${told}`
    for (const [placeholder, pattern] of Object.entries(step.gives ?? {})) {
      const found = pattern.exec(said)
      if (found === null) return `${pattern} not in\n${told}`
      this.learn(placeholder, found[1] ?? found[0])
    }
    return undefined
  }

  /** Longer placeholders first, since one may begin another; a word only where it stands as one. */
  filled(text: string): string {
    const patterns = [...this.#values.keys()]
      .toSorted((a, b) => b.length - a.length)
      .map((placeholder) => placeholder.replaceAll(SPECIAL, '\\$&'))
      .map((escaped) => (/^\w+$/.test(escaped) ? `\\b${escaped}\\b` : escaped))
    if (patterns.length === 0) return text
    const all = new RegExp(patterns.join('|'), 'g')
    return text.replace(all, (placeholder) => this.#values.get(placeholder)!)
  }
}
