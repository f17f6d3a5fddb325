"""The real runners of the suite, installed into a cache folder outside of the project."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON = ["pytest==8.3.4", "pyyaml==6.0.2"]
NODE = {"jest": ["jest@29.7.0"], "vitest": ["vitest@2.1.8"], "mocha": ["mocha@10.8.2"]}


class Tools:
    """The cache folder: a Python environment, packages of Node, and the work folder of the cases."""

    def __init__(self, folder):
        self.cache = Path(folder)
        self.venv = self.cache / "python"
        self.work = None

    def python(self):
        return self.venv / "bin" / "python"

    def path(self):
        return f"{self.venv / 'bin'}:{os.environ['PATH']}"

    def modules(self, name):
        return self.cache / name / "node_modules"

    def install(self):
        """Installs what is missing, each in a folder of its own that replaces an unfinished one."""
        self.cache.mkdir(parents=True, exist_ok=True)
        missing = [name for name in ("node", "npm", "cargo", "make", "git") if not shutil.which(name)]
        if missing:
            sys.exit(f"missing programs: {', '.join(missing)}")
        self.once("python", lambda folder: self.pip(folder))
        for name, packages in NODE.items():
            self.once(name, lambda folder, packages=packages: self.npm(folder, packages))

    def once(self, name, install):
        folder = self.cache / name
        if (folder / "complete").exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install(folder)
        (folder / "complete").touch()

    def pip(self, folder):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", "--disable-pip-version-check", *PYTHON], check=True)

    def npm(self, folder, packages):
        (folder / "package.json").write_text('{"private": true}\n')
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", *packages]
        subprocess.run(command, cwd=folder, check=True)

    def start(self):
        self.work = Path(tempfile.mkdtemp(prefix="kb-claims-"))

    def end(self):
        shutil.rmtree(self.work, ignore_errors=True)
