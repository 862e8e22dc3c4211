// compress.mjs QUALITY FOLDER: writes FILE.br and FILE.gz for each file in FOLDER.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [quality, folder] = process.argv.slice(2);

for (const name of readdirSync(folder, { recursive: true })) {
  const file = join(folder, name);
  if (basename(name).startsWith(".") || !statSync(file).isFile()) continue;
  const bytes = readFileSync(file);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: Number(quality),
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: Math.min(9, Number(quality)) }));
}
