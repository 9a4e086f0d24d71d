import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyTree } from '#deploy/release/tree.ts'

interface Journal {
  readonly entries: {
    idx: number
    version: string
    when: number
    tag: string
    breakpoints: boolean
  }[]
}

/** This release in a folder of its own, under another version, for a test to change. Disposing it removes the folder. */
export class ReleasedTree implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'weir-release-'))

  static async lay(version: string): Promise<ReleasedTree> {
    const tree = new ReleasedTree()
    await copyTree(tree.directory)
    tree.edit('package.json', (content) =>
      content.replace(/"version": "[^"]+"/, `"version": "${version}"`),
    )
    return tree
  }

  edit(file: string, change: (content: string) => string): void {
    const path = join(this.directory, file)
    writeFileSync(path, change(readFileSync(path, 'utf8')))
  }

  /** The newest migration of both kinds of database. */
  addMigration(name: string, statement: string): void {
    for (const component of ['gateway', 'cells']) {
      const folder = join(component, 'db/migrations')
      this.edit(join(folder, 'meta/_journal.json'), (content) => {
        const journal = JSON.parse(content) as Journal
        const { idx, when, ...rest } = journal.entries.at(-1)!
        const tag = `${String(idx + 1).padStart(4, '0')}_${name}`
        writeFileSync(join(this.directory, folder, `${tag}.sql`), statement)
        journal.entries.push({ ...rest, idx: idx + 1, when: when + 1, tag })
        return JSON.stringify(journal)
      })
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}
