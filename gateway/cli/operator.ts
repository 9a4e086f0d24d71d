import type { Env } from '#common/env.ts'
import type { BundleFile } from './debug/bundle-file.ts'
import type { Ending } from './exit-codes.ts'

/** Where a command writes: standard output or standard error. */
export interface Screen {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

export interface LogLine {
  readonly process: string
  readonly line: string
}

/** An entry of a clouds.yaml. */
export interface CloudReference {
  readonly file: string
  readonly name: string
}

/** The environment of a command: everything that commands know of the process they run in. */
export interface Operator {
  readonly env: Env
  /** Where they are, and where they live: both are searched for a clouds.yaml. */
  readonly directory: string
  readonly home: string
  /** The administrator of the deployment in this checkout, who is used when no cloud is named. */
  readonly local: CloudReference
  /** For results, which are for programs too. */
  readonly out: Screen
  /** For everything else: progress, warnings. */
  readonly err: Screen
  /** A secret typed without echo after the prompt, or read from standard input if there is no terminal. */
  secret(prompt: string): Promise<string>
  /** This machine's files about the deployment in this checkout; none if there is no deployment. */
  localFiles(): Promise<readonly BundleFile[]>
  /** The lines of the logs of the deployment in this checkout that hold a text, the oldest first, with the names of their processes. */
  logLines(text: string): Promise<readonly LogLine[]>
  /**
   * Afterwards no program of a cell that has left runs here and no file remains, if the cell is of the deployment in
   * this checkout; with `keepsDisks`, the disks of its hosts remain.
   */
  forgetCell(id: string, options: { readonly keepsDisks: boolean }): Promise<void>
  /** Afterwards no program of a lost cell runs here, if the cell is of the deployment in this checkout; its files are kept. */
  retireCell(id: string): Promise<void>
  /** How the command ends if it does not throw; the last call decides. */
  endsAs(ending: Ending): void
}
